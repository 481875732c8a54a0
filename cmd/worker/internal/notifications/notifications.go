// Package notifications makes the receivers of a configuration.
package notifications

import (
	"errors"
	"fmt"
	"strings"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/joined"
	"github.com/solotick/solotick/notify"
)

// Receivers returns the configured receivers.
func Receivers(cfg *config.Config) []notify.Receiver {
	list := make([]notify.Receiver, len(cfg.Notifications.Receivers))
	for i, r := range cfg.Notifications.Receivers {
		list[i] = notify.Receiver{
			Name: r.Name, Kind: notify.Kind(r.Kind), URL: r.URL.Reveal(), URLFile: r.URLFile, Secret: r.Secret.Reveal(), SecretFile: r.SecretFile,
			Headers: r.Headers, Template: r.Template, ContentType: r.ContentType, Jobs: r.Jobs, Groups: r.Groups, Timeout: r.Timeout,
		}
		for _, c := range r.Conditions {
			list[i].Conditions = append(list[i].Conditions, notify.Condition(c))
		}
	}
	return list
}

// Check checks the receivers of the file at path. The error is an *exitcode.ConfigError with every
// fault, each with the line of its receiver.
func Check(cfg *config.Config, path string) error {
	var faults config.Errors
	for _, err := range joined.Errors(notify.Check(Receivers(cfg))) {
		fault, ok := errors.AsType[*notify.Fault](err)
		if !ok {
			return err
		}
		faults = append(faults, &config.Error{
			File: path, Line: cfg.Notifications.Receivers[min(fault.Receiver, len(cfg.Notifications.Receivers)-1)].Line, Column: 1,
			Field: fmt.Sprintf("notifications.receivers[%d].%s", fault.Receiver, fault.Field), Rule: strings.TrimSpace(fault.Rule),
		})
	}
	if len(faults) == 0 {
		return nil
	}
	return &exitcode.ConfigError{Err: faults}
}

// After returns how many ticks go wrong in a row before receivers are notified, by the names of
// jobs.
func After(cfg *config.Config) map[string]int {
	after := map[string]int{}
	for _, job := range cfg.Jobs {
		if job.Notify.After > 1 {
			after[job.Spec.Name] = job.Notify.After
		}
	}
	return after
}
