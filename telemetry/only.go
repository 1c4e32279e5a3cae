package telemetry

import "strings"

// Only is the window with the streams of one host or switch: those whose object is it or begins with its name and a
// slash. Samples are shared with the window.
func (w *Window) Only(name string) *Window {
	out := NewWindow(w.From, w.To)
	for k, p := range w.points {
		if object, _, _ := strings.Cut(k.Object, "/"); object == name {
			out.points[k] = p
			out.bySeries[k.Series] = append(out.bySeries[k.Series], k)
		}
	}
	return out
}
