package config

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/settings"
)

var notificationKeys = []key[settings.Notifications]{
	field("interval", durationWithin(100*time.Millisecond, time.Hour), func(n *settings.Notifications) *time.Duration { return &n.Interval },
		"between two looks at the fleet, by one replica"),
	field("confirm", durationWithin(0, 24*time.Hour), func(n *settings.Notifications) *time.Duration { return &n.Confirm },
		"how long a job must be overdue or unserved before that is notified of"),
	field("receivers", receiverList, func(n *settings.Notifications) *[]settings.Receiver { return &n.Receivers },
		"who is notified: the keys of each are in notifications.md"),
}

// Package notify judges the fields of a receiver together.
var receiverKeys = []key[settings.Receiver]{
	field("name", name, func(r *settings.Receiver) *string { return &r.Name }, "of the receiver, and of no other").
		needed("every receiver has a name"),
	field("kind", oneOf("webhook", "slack", "teams", "pagerduty", "ntfy", "dingtalk", "feishu", "wecom"),
		func(r *settings.Receiver) *string { return &r.Kind }, "what it understands").defaultsTo("webhook"),
	field("url", monitorURL, func(r *settings.Receiver) *settings.Secret { return &r.URL },
		"where to send to; better with ${NAME}, or url_file").hidden().defaultsTo("required, but for pagerduty"),
	field("url_file", word, func(r *settings.Receiver) *string { return &r.URLFile },
		"a file that holds the URL; it is read for each request"),
	field("secret", secretText, func(r *settings.Receiver) *settings.Secret { return &r.Secret },
		"signs, or proves who sends; better ${NAME}, or secret_file").hidden().defaultsTo("none"),
	field("secret_file", word, func(r *settings.Receiver) *string { return &r.SecretFile },
		"a file that holds the secret; it is read for each request"),
	field("headers", receiverHeaders, func(r *settings.Receiver) *map[string]string { return &r.Headers },
		"added to each request").hidden(),
	field("template", anyText[string]("a text/template of Go"), func(r *settings.Receiver) *string { return &r.Template },
		"the body for a webhook").hidden().defaultsTo("JSON"),
	field("content_type", word, func(r *settings.Receiver) *string { return &r.ContentType },
		"of what the template makes").defaultsTo("application/json"),
	field("jobs", patterns, func(r *settings.Receiver) *[]string { return &r.Jobs },
		"which jobs: the last pattern that matches decides, and ! excludes").defaultsTo("all"),
	field("groups", groupNames, func(r *settings.Receiver) *[]string { return &r.Groups },
		"only jobs of one of these groups").defaultsTo("all"),
	field("conditions", conditions, func(r *settings.Receiver) *[]string { return &r.Conditions },
		"which conditions; ok is sent where the condition that ended was").defaultsTo("all"),
	field("timeout", durationWithin(100*time.Millisecond, maxPostTimeout), func(r *settings.Receiver) *time.Duration { return &r.Timeout },
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

var conditions = list[string]{
	want: "a list of conditions such as [failed, lost]", values: "ok, failed, lost, missed, overdue, unserved",
	size: notEmpty("is empty, so nothing would be sent; leave it out for all"),
	item: func(int) kind[string] { return oneOf("ok", "failed", "lost", "missed", "overdue", "unserved") },
}.kind()

var receiverList = func() kind[[]settings.Receiver] {
	entry := mapping(receiverKeys, func(_ *reader, v value, to *settings.Receiver) { to.Line = v.line })
	read := entry.read
	entry.read = func(r *reader, v value, to *settings.Receiver) bool {
		to.Kind, to.Timeout = "webhook", defaultPostTimeout
		return read(r, v, to)
	}
	k := list[settings.Receiver]{
		want: "a list of receivers such as [{name: ops, kind: slack, url: \"${SLACK_URL}\"}]", values: "a list of receivers",
		item: func(int) kind[settings.Receiver] { return entry },
		open: true,
		repeat: func(r settings.Receiver, earlier []settings.Receiver) string {
			if i := slices.IndexFunc(earlier, func(e settings.Receiver) bool { return e.Name == r.Name }); i >= 0 && r.Name != "" {
				return fmt.Sprintf("has the name of notifications.receivers[%d]; each receiver needs a name of its own", i)
			}
			return ""
		},
	}.kind()
	k.differ = func(a, b *[]settings.Receiver, path string) []string {
		if slices.EqualFunc(*a, *b, func(a, b settings.Receiver) bool {
			a.Line, b.Line = 0, 0
			return reflect.DeepEqual(a, b)
		}) {
			return nil
		}
		return []string{path}
	}
	return k
}()
