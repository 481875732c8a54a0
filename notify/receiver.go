package notify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/jobs"
)

// Kind names the bodies and answers of a service.
type Kind string

// The kinds of receiver.
const (
	// Webhook gets the JSON of docs/notifications.md, or what the template makes, signed as Standard
	// Webhooks says.
	Webhook   Kind = "webhook"
	Slack     Kind = "slack"     // an incoming webhook
	Teams     Kind = "teams"     // a webhook of a workflow
	PagerDuty Kind = "pagerduty" // Events API v2; the secret is the integration key
	Ntfy      Kind = "ntfy"      // the URL of a topic; the secret is an access token
	DingTalk  Kind = "dingtalk"  // a custom robot; the secret signs
	Feishu    Kind = "feishu"    // a custom bot of Feishu or Lark; the secret signs
	WeCom     Kind = "wecom"     // a group robot
)

// Kinds are all kinds of receiver.
var Kinds = []Kind{Webhook, Slack, Teams, PagerDuty, Ntfy, DingTalk, Feishu, WeCom}

// Receiver is who gets notifications. It prints without its URL and secrets.
type Receiver struct {
	Name string // valid as a job's name, and of no other receiver; one that is renamed is new
	Kind Kind   // default: Webhook

	// URL is where to send to, http or https; or else URLFile names a file that holds it, which is
	// read for each request. PagerDuty has one of its own.
	URL, URLFile string
	// Secret signs, or proves who sends: see Kind. That of a Webhook may be whsec_ and base64, as
	// Standard Webhooks has it. SecretFile names a file that holds it, which is read for each request.
	Secret, SecretFile string
	Headers            map[string]string // added to each request

	// Template makes the body of a Webhook: a text/template over a [Notification], with a function
	// json that makes JSON of a value. Unless ContentType says otherwise it has to make JSON of every
	// notification.
	Template    string
	ContentType string // default: application/json

	// Jobs are patterns of names, as of path.Match: the last one that matches decides, and one that
	// begins with ! excludes. No pattern, or none but excluding ones, means all jobs.
	Jobs       []string
	Groups     []string    // only jobs of one of these groups; none means all jobs
	Conditions []Condition // none means all; OK is sent where the condition that ended was

	Timeout time.Duration // of a request; default: 10 s
}

// String names the receiver.
func (r Receiver) String() string { return fmt.Sprintf("receiver %s of kind %s", r.Name, r.kind()) }

// Format prints String, whatever the verb.
func (r Receiver) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue returns String.
func (r Receiver) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText returns String.
func (r Receiver) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r Receiver) kind() Kind {
	if r.Kind == "" {
		return Webhook
	}
	return r.Kind
}

const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = time.Minute
	maxReceivers   = 32
)

func (r Receiver) timeout() time.Duration {
	if r.Timeout == 0 {
		return defaultTimeout
	}
	return r.Timeout
}

// Fault is a rule that a field of a receiver breaks. It shows no URL and no secret.
type Fault struct {
	Receiver int    // its place
	Field    string // as the configuration file names it
	Rule     string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("receivers[%d].%s %s", f.Receiver, f.Field, f.Rule)
}

// Check returns every [Fault] of the receivers, joined; nil when there is none. It reads no file
// and connects to nobody.
func Check(receivers []Receiver) error {
	var faults []error
	if len(receivers) > maxReceivers {
		faults = append(faults, &Fault{maxReceivers, "name", fmt.Sprintf("is one too many: there may be %d receivers", maxReceivers)})
	}
	for i, r := range receivers {
		fault := func(field, rule string) { faults = append(faults, &Fault{i, field, rule}) }
		if !naming.Valid(r.Name) {
			fault("name", naming.Rule)
		} else if slices.ContainsFunc(receivers[:i], func(other Receiver) bool { return other.Name == r.Name }) {
			fault("name", "must be of no other receiver")
		}
		r.check(fault)
	}
	return errors.Join(faults...)
}

func (r Receiver) check(fault func(field, rule string)) {
	if !slices.Contains(Kinds, r.kind()) {
		fault("kind", fmt.Sprintf("must be one of %s", joined(Kinds)))
	}
	switch {
	case r.URL != "" && r.URLFile != "":
		fault("url", "must not be written beside url_file; keep one")
	case r.URL == "" && r.URLFile == "" && r.kind() != PagerDuty:
		fault("url", "is missing; write it, or url_file")
	case r.URL != "":
		if rule := urlRule(r.kind(), r.URL); rule != "" {
			fault("url", rule)
		}
	}
	switch {
	case r.Secret != "" && r.SecretFile != "":
		fault("secret", "must not be written beside secret_file; keep one")
	case r.Secret == "" && r.SecretFile == "" && r.kind() == PagerDuty:
		fault("secret", "is missing; write the integration key of the service, or secret_file")
	case r.kind() == Slack || r.kind() == Teams || r.kind() == WeCom:
		if r.Secret != "" || r.SecretFile != "" {
			fault("secret", "is nothing that this kind has: its URL is the secret")
		}
	case r.kind() == Webhook && r.Secret != "":
		if _, err := signingKey(r.Secret); err != nil {
			fault("secret", err.Error())
		}
	}
	for name := range r.Headers {
		if rule := headerRule(name, r.Headers[name]); rule != "" {
			fault("headers", rule)
		}
	}
	if r.Template != "" && r.kind() != Webhook {
		fault("template", "is for the kind webhook only")
	} else if err := tryTemplate(r); err != nil {
		fault("template", err.Error())
	}
	for _, pattern := range r.Jobs {
		if _, err := path.Match(strings.TrimPrefix(pattern, "!"), ""); err != nil || strings.TrimPrefix(pattern, "!") == "" {
			fault("jobs", "must be patterns such as billing-*, or !billing-test")
			break
		}
	}
	for _, c := range r.Conditions {
		if !slices.Contains(Conditions, c) {
			fault("conditions", fmt.Sprintf("must be of %s", joined(Conditions)))
			break
		}
	}
	if r.Timeout < 0 || r.Timeout > maxTimeout {
		fault("timeout", fmt.Sprintf("must be above 0s and at most %s", maxTimeout))
	}
}

func joined[T ~string](list []T) string {
	var b strings.Builder
	for i, item := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(item))
	}
	return b.String()
}

func urlRule(kind Kind, text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be an absolute URL that starts with http:// or https://"
	case kind == Ntfy && strings.Trim(u.Path, "/") == "":
		return "must be that of a topic, such as https://ntfy.sh/TOPIC"
	}
	return ""
}

func headerRule(name, text string) string {
	for _, own := range []string{"Content-Type", "Content-Length", "Transfer-Encoding", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		if http.CanonicalHeaderKey(name) == own {
			return "must not hold " + own + ", which is set for each request"
		}
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }) {
		return "must have names of headers: letters, digits and -"
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return "must have values of one line without control characters"
	}
	return ""
}

// wants reports whether the receiver is to get n.
func (r Receiver) wants(n Notification) bool {
	has := func(c Condition) bool { return len(r.Conditions) == 0 || slices.Contains(r.Conditions, c) }
	return has(n.Condition) && (n.Condition != OK || has(n.Was))
}

// concerns reports whether the receiver gets notifications of a job. The definition is the zero
// Spec where it is not known.
func (r Receiver) concerns(name string, spec jobs.Spec) bool {
	job, _ := naming.SplitKeyed(name)
	return notified.Concerns(r.Jobs, r.Groups, job, spec.Groups)
}

// secrets returns the URL and the secret, from their files where they lie there.
func (r Receiver) secrets() (address *url.URL, secret string, err error) {
	text, secret := r.URL, r.Secret
	if r.URLFile != "" {
		if text, err = read("url_file", r.URLFile); err != nil {
			return nil, "", err
		}
	}
	if r.SecretFile != "" {
		if secret, err = read("secret_file", r.SecretFile); err != nil {
			return nil, "", err
		}
	}
	if text == "" && r.kind() == PagerDuty {
		text = "https://events.pagerduty.com/v2/enqueue"
	}
	if rule := urlRule(r.kind(), text); rule != "" {
		return nil, "", fmt.Errorf("url_file: %s %s", r.URLFile, rule)
	}
	address, err = url.Parse(text)
	return address, secret, err
}

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 8 << 10

func read(field, name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxSecret))
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("%s: %s is empty", field, name)
	}
	return secret, nil
}

// signingKey returns the key of a secret of Standard Webhooks.
func signingKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	if !ok {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, errors.New("must be base64 after whsec_")
	}
	return key, nil
}
