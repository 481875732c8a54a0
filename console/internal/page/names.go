package page

import (
	"github.com/solotick/solotick/console/internal/view"
)

// nameOf returns the template that shows a view, and the job that it is about, with its zone.
func nameOf(shown any) (name, job, zone string) {
	switch v := shown.(type) {
	case view.JobsPage:
		return "jobs", "", ""
	case view.JobPage:
		return "job", v.Job, v.Timezone
	case view.TickPage:
		return "tick", v.Job, v.Timezone
	case view.WhyPage:
		return "why", v.Job, v.Timezone
	case view.TimelinePage:
		return "timeline", "", ""
	case view.LoadPage:
		return "load", "", ""
	case view.FleetPage:
		return "fleet", "", ""
	case view.LocksPage:
		return "locks", "", ""
	case view.AuditPage:
		return "audit", "", ""
	case LoginPage:
		return "login", "", ""
	case ConfirmPage:
		return "confirm", "", ""
	case DonePage:
		return "done", "", ""
	case ErrorPage:
		return "error", "", ""
	}
	return "", "", ""
}
