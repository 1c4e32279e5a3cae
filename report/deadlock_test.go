package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/diagnose"
)

// A cycle of paused ports is told with its ports, in the text and in the forms for files.
func TestDeadlockIsTold(t *testing.T) {
	const cycle = "s0/Ethernet8 -> s1/Ethernet8 -> s0/Ethernet8, priority 3, since 1.2ms"
	r := New(diagnose.Result{}, nil, &Run{Title: "ring", Job: "3 GPUs", Stalled: true, Deadlocks: []string{cycle}})
	var text, markdown bytes.Buffer
	if err := Text(&text, r, TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, r, Options{}); err != nil {
		t.Fatal(err)
	}
	for form, out := range map[string]string{"text": text.String(), "markdown": markdown.String()} {
		if !strings.Contains(out, "PFC deadlock: ") || !strings.Contains(out, "s1/Ethernet8") {
			t.Errorf("%s does not tell of the deadlock:\n%s", form, out)
		}
	}
}
