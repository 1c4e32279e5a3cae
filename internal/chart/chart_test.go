package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
)

func axis(n int) Axis {
	x := Axis{Title: "time"}
	for i := range n {
		x.Labels = append(x.Labels, fmt.Sprintf("%d us", i))
	}
	return x
}

func ramp(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i)
	}
	return out
}

// Pictures are whole files of their format, with the title, the names and the first label in them, and no two labels in one place.
func TestPictures(t *testing.T) {
	for name, draw := range map[string]func(f Format) ([]byte, error){
		"lines": func(f Format) ([]byte, error) {
			return Lines("a title", "and more", axis(241), Vertical{Unit: " KB"}, []Line{{"one", ramp(241)}, {"two", append([]float64{math.NaN()}, ramp(240)...)}}, f)
		},
		"share": func(f Format) ([]byte, error) {
			return Lines("a title", "", axis(9), Vertical{Unit: " %", Most: 100, LegendBelow: true}, []Line{{"one", ramp(9)}}, f)
		},
		"flat": func(f Format) ([]byte, error) {
			return Lines("a title", "", axis(241), Vertical{}, []Line{{"one", make([]float64, 241)}}, f)
		},
		"heat": func(f Format) ([]byte, error) {
			return Heat("a title", "and more", axis(97), []string{"one", "leaf0/Ethernet8 -> spine1"}, [][]float64{ramp(97), make([]float64, 97)}, 96, f)
		},
	} {
		src, err := draw(SVG)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d := xml.NewDecoder(bytes.NewReader(src))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
		for _, want := range []string{"<svg", "a title", ">one<", "0 us"} {
			if !strings.Contains(string(src), want) && !(name == "share" && want == "") {
				t.Errorf("%s: the picture has no %q", name, want)
			}
		}
		if strings.Contains(string(src), "240 us") || strings.Contains(string(src), ">96 us") {
			t.Errorf("%s: the last label runs into the one before", name)
		}
		raster, err := draw(PNG)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		img, err := png.Decode(bytes.NewReader(raster))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b := img.Bounds(); b.Dx() != width || b.Dy() < 100 {
			t.Errorf("%s: %v", name, b)
		}
	}
}

// What does not fit is an error, not a panic.
func TestTooMuch(t *testing.T) {
	if _, err := Heat("wide", "", axis(5000), []string{"a"}, [][]float64{ramp(5000)}, 1, SVG); err == nil {
		t.Error("5000 columns were drawn on 960 pixels")
	}
}
