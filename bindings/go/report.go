package ondine

// #include "shims.h"
import "C"

import (
	"encoding/json"
	"math"
)

// Report is a report of the library, or a part of one. docs/c.md names the members; more may be
// added.
type Report struct{ value any }

func takeReport(text *C.char) Report {
	var made Report
	if text != nil {
		made.parse(takeText(text))
	}
	return made
}

func (r *Report) parse(text string) { _ = json.Unmarshal([]byte(text), &r.value) }

// Get gives a member, or a member of one; an empty report where there is none.
func (r Report) Get(members ...string) Report {
	for _, one := range members {
		object, _ := r.value.(map[string]any)
		r = Report{object[one]}
	}
	return r
}

// List gives the elements of a list.
func (r Report) List() []Report {
	elements, _ := r.value.([]any)
	made := make([]Report, len(elements))
	for i, one := range elements {
		made[i] = Report{one}
	}
	return made
}

// Number gives a number, also one that is not finite, and whether it is one.
func (r Report) Number() (float64, bool) {
	switch one := r.value.(type) {
	case float64:
		return one, true
	case string:
		switch one {
		case "nan":
			return math.NaN(), true
		case "inf":
			return math.Inf(1), true
		case "-inf":
			return math.Inf(-1), true
		}
	}
	return 0, false
}

// Text gives a text, "" for anything else.
func (r Report) Text() string {
	text, _ := r.value.(string)
	return text
}

// Bool tells whether it is true.
func (r Report) Bool() bool {
	is, _ := r.value.(bool)
	return is
}

// Decode reads it as json.Unmarshal does.
func (r Report) Decode(to any) error {
	text, err := json.Marshal(r.value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// String gives it as JSON.
func (r Report) String() string {
	text, _ := json.Marshal(r.value)
	return string(text)
}
