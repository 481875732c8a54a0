package page

import (
	"time"

	"github.com/solotick/solotick/console/internal/view"
)

// LoginPage asks for a token.
type LoginPage struct {
	Failed string // why the last try did; "" at first
	Next   string // the path below the prefix to go on to, with its query
}

// ErrorPage says why there is no page.
type ErrorPage struct {
	Status int
	Title  string
	Detail string
	Faults []Fault
}

// Fault says why a field of a request is refused.
type Fault struct {
	Field string `json:"field"`
	Value string `json:"value"`
	Rule  string `json:"rule"`
}

// Action names a change that a form makes to the fleet. It is part of the path that its form is
// sent to.
type Action string

// The actions.
const (
	Pause   Action = "pause"
	Resume  Action = "resume"
	Trigger Action = "trigger"
	Cancel  Action = "cancel"  // the run of a job
	Repair  Action = "repair"  // a watermark that lies in the future
	Forget  Action = "forget"  // the record of a job that nobody serves
	Release Action = "release" // a lock, by force
	Delete  Action = "delete"  // a schedule in the store
)

// ConfirmPage asks whether to do something to jobs or a lock, and says what will happen.
type ConfirmPage struct {
	Action Action
	Names  []string // of jobs, or the one of a lock: those that are shown
	Total  int      // how many it is about; Names may have fewer
	Facts  []string // about the present, such as a holder: a sentence each
	Fields []Field  // that the form sends besides the reason
	Reason string   // that was sent before
	// Payload says that the form asks for one, and Own that there is one without it.
	Payload, Own bool
	Faults       []Fault // of the form that was sent before
	Back         string  // the path below the prefix to go back to, with its query
}

// Field is a field of a form that nobody sees.
type Field struct{ Name, Value string }

// DonePage shows the result of an action.
type DonePage struct {
	Action Action
	Done   []string // jobs, or the lock
	Failed []Fault  // Field is the job or the lock, Rule why it was not done
	Back   string
}

// EditPage is the form of a schedule in the store.
type EditPage struct {
	Job, Key  string            // Key is "" of a new one
	Inputs    []string          // the names of its short fields
	Values    map[string]string // that were typed, and the revision that is edited; none of a new one
	Faults    []Fault
	Meanwhile bool         // somebody else has changed it since the form was made
	Present   []view.Field // then, what it is now; none if it is deleted
}

// Wrong returns the faults of a field.
func (p EditPage) Wrong(field string) (list []Fault) {
	for _, f := range p.Faults {
		if f.Field == field {
			list = append(list, f)
		}
	}
	return list
}

// PreviewPage is a part of the page of a form: what the schedule would do.
type PreviewPage struct {
	Words  string      `json:"schedule_words"`
	Zone   string      `json:"timezone"`
	Coming []time.Time `json:"coming"`
	Faults []Fault     `json:"faults"`
}
