package config

import (
	"errors"
	"time"

	"github.com/solotick/solotick/internal/joined"
	"github.com/solotick/solotick/notify"
)

var notificationKeys = []key[Notifications]{
	field("interval", durationWithin(100*time.Millisecond, time.Hour), func(n *Notifications) *time.Duration { return &n.Interval },
		"between two looks at the fleet, by one replica"),
	field("confirm", durationWithin(0, 24*time.Hour), func(n *Notifications) *time.Duration { return &n.Confirm },
		"how long a job must be overdue or unserved before that is notified of"),
	field("receivers", receiverList, func(n *Notifications) *[]notify.Receiver { return &n.Receivers },
		"who is notified: the keys of each are in notifications.md"),
}

// newReceiver has the defaults of a receiver.
var newReceiver = notify.Receiver{Kind: notify.Webhook, Timeout: defaultPostTimeout}

// Package notify judges the fields of a receiver together.
var receiverKeys = []key[notify.Receiver]{
	field("name", name, func(r *notify.Receiver) *string { return &r.Name }, "of the receiver, and of no other").
		needed("every receiver has a name"),
	field("kind", oneOf(notify.Kinds...), func(r *notify.Receiver) *notify.Kind { return &r.Kind }, "what it understands"),
	field("url", httpURL, func(r *notify.Receiver) *string { return &r.URL },
		"where to send to; better with ${NAME}, or url_file").hidden().defaultsTo("required, but for pagerduty"),
	field("url_file", word, func(r *notify.Receiver) *string { return &r.URLFile },
		"a file that holds the URL; it is read for each request"),
	field("secret", filled, func(r *notify.Receiver) *string { return &r.Secret },
		"signs, or proves who sends; better ${NAME}, or secret_file").hidden().defaultsTo("none"),
	field("secret_file", word, func(r *notify.Receiver) *string { return &r.SecretFile },
		"a file that holds the secret; it is read for each request"),
	field("headers", receiverHeaders, func(r *notify.Receiver) *map[string]string { return &r.Headers },
		"added to each request").hidden(),
	field("template", anyText[string]("a text/template of Go"), func(r *notify.Receiver) *string { return &r.Template },
		"the body for a webhook").hidden().defaultsTo("JSON"),
	field("content_type", word, func(r *notify.Receiver) *string { return &r.ContentType },
		"of what the template makes").defaultsTo("application/json"),
	field("jobs", patterns, func(r *notify.Receiver) *[]string { return &r.Jobs },
		"which jobs: the last pattern that matches decides, and ! excludes").defaultsTo("all"),
	field("groups", groupNames, func(r *notify.Receiver) *[]string { return &r.Groups },
		"only jobs of one of these groups").defaultsTo("all"),
	field("conditions", conditions, func(r *notify.Receiver) *[]notify.Condition { return &r.Conditions },
		"which conditions; ok is sent where the condition that ended was").defaultsTo("all"),
	field("timeout", durationWithin(100*time.Millisecond, maxPostTimeout), func(r *notify.Receiver) *time.Duration { return &r.Timeout },
		"of a request"),
}

var receiverHeaders = dictionary(asWritten, func(name, _ string, _ int) (ofName, ofValue string) {
	if name == "" {
		return "must be a header's name", ""
	}
	return "", ""
})

var patterns = list[string]{
	want: "a list of patterns such as [billing-*, \"!billing-test\"]", values: "patterns of names",
	item: func(int) kind[string] { return word },
}.kind()

var conditions = list[notify.Condition]{
	want: "a list of conditions such as [failed, lost]", values: joinedWords(notify.Conditions),
	size: notEmpty("is empty, so nothing would be sent; leave it out for all"),
	item: func(int) kind[notify.Condition] { return oneOf(notify.Conditions...) },
}.kind()

var receiverList = list[notify.Receiver]{
	want: "a list of receivers such as [{name: ops, kind: slack, url: \"${SLACK_URL}\"}]", values: "a list of receivers",
	item:   func(int) kind[notify.Receiver] { return startingWith(newReceiver, mapping(receiverKeys, nil)) },
	open:   true,
	repeat: uniqueNames("receiver", "notifications.receivers", func(r notify.Receiver) string { return r.Name }),
	check:  checkReceivers,
}.kind()

// checkReceivers reports the faults of receivers, each where its field is written, or at the
// receiver that lacks it.
func checkReceivers(r *reader, items []value, list []notify.Receiver) {
	for _, err := range joined.Errors(notify.Check(list)) {
		if fault, ok := errors.AsType[*notify.Fault](err); ok {
			at := items[min(fault.Receiver, len(items)-1)]
			path := join(at.path, fault.Field)
			if written, ok := r.at[path]; ok {
				at = written
			}
			r.add(at.line, at.column, path, "", fault.Rule)
		}
	}
}
