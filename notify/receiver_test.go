package notify

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestFaultyReceiversAreRefusedWithoutSecrets(t *testing.T) {
	const hidden = "hunter2"
	for want, r := range map[string]Receiver{
		"name must start with a letter":                 {Name: "a b", URL: "http://h"},
		"kind must be one of webhook, slack":            {Kind: "pager", URL: "http://h"},
		"url is missing":                                {},
		"url must not be written beside url_file":       {URL: "http://h/" + hidden, URLFile: "f"},
		"url must be an absolute URL":                   {URL: "ftp://" + hidden},
		"url must be that of a topic":                   {Kind: Ntfy, URL: "http://h/"},
		"secret is missing":                             {Kind: PagerDuty},
		"secret must not be written beside secret_file": {URL: "http://h", Secret: hidden, SecretFile: "f"},
		"secret is nothing that this kind has":          {Kind: Slack, URL: "http://h", Secret: hidden},
		"secret must be base64 after whsec_":            {URL: "http://h", Secret: "whsec_" + hidden},
		"headers must not hold Webhook-Id":              {URL: "http://h", Headers: map[string]string{"webhook-id": hidden}},
		"headers must have names of headers":            {URL: "http://h", Headers: map[string]string{"a b": hidden}},
		"headers must have values of one line":          {URL: "http://h", Headers: map[string]string{"A": hidden + "\r\nB: c"}},
		"template is for the kind webhook only":         {Kind: Slack, URL: "http://h", Template: "x"},
		"template template: r:1: unclosed action":       {URL: "http://h", Template: "{{.Text"},
		"template template: r:1:2: executing":           {URL: "http://h", Template: "{{.Secret}}"},
		"template does not make JSON":                   {URL: "http://h", Template: `{"a": "{{.Error}}"}`},
		"jobs must be patterns":                         {URL: "http://h", Jobs: []string{"[a"}},
		"conditions must be of ok, failed":              {URL: "http://h", Conditions: []Condition{"late"}},
		"timeout must be above 0s":                      {URL: "http://h", Timeout: 2 * time.Minute},
	} {
		if r.Name == "" {
			r.Name = "r"
		}
		err := Check([]Receiver{r})
		require.ErrorContains(t, err, "receivers[0]."+want)
		require.NotContains(t, err.Error(), hidden)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", r, r, r, []Receiver{r}), hidden)
	}
	err := Check([]Receiver{{Name: "a", URL: "http://h"}, {Name: "a", URL: "http://h", Kind: "x"}})
	require.ErrorContains(t, err, "receivers[1].name must be of no other receiver\nreceivers[1].kind")
	fault, is := errors.AsType[*Fault](err)
	require.True(t, is)
	require.Equal(t, "name", fault.Field)
	require.Error(t, Check(make([]Receiver, maxReceivers+1)))
}

func TestFiltersChooseJobsAndConditions(t *testing.T) {
	eu := jobs.Spec{Groups: []string{"eu", "batch"}}
	for _, test := range []struct {
		r    Receiver
		job  string
		spec jobs.Spec
		want bool
	}{
		{Receiver{}, "a", jobs.Spec{}, true},
		{Receiver{Jobs: []string{"billing-*"}}, "billing-a", eu, true},
		{Receiver{Jobs: []string{"billing-*"}}, "other", eu, false},
		{Receiver{Jobs: []string{"!billing-*"}}, "other", eu, true},
		{Receiver{Jobs: []string{"*", "!billing-*", "billing-a"}}, "billing-a", eu, true},
		{Receiver{Jobs: []string{"*", "!billing-*", "billing-a"}}, "billing-b", eu, false},
		{Receiver{Groups: []string{"batch"}}, "a", eu, true},
		{Receiver{Groups: []string{"us"}}, "a", eu, false},
		{Receiver{Groups: []string{"us"}}, "a", jobs.Spec{}, false},
	} {
		require.Equal(t, test.want, test.r.concerns(test.job, test.spec), "%v %v", test.r.Jobs, test.job)
	}
	r := Receiver{Conditions: []Condition{Failed, OK}}
	require.True(t, r.wants(Notification{Condition: Failed}))
	require.False(t, r.wants(Notification{Condition: Lost}))
	require.True(t, r.wants(Notification{Condition: OK, Was: Failed}))
	require.False(t, r.wants(Notification{Condition: OK, Was: Lost}), "nobody knows that it was")
}

func TestSecretsInFilesAreReadEachTime(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	r := Receiver{Name: "r", URLFile: write("url", "http://a/hook\n"), SecretFile: write("secret", "one\n")}
	require.NoError(t, Check([]Receiver{r}))
	first, err := r.request(failure(), tick)
	require.NoError(t, err)
	require.Equal(t, "http://a/hook", first.address.String())
	write("url", "http://b/hook")
	write("secret", "two")
	second, err := r.request(failure(), tick)
	require.NoError(t, err)
	require.Equal(t, "http://b/hook", second.address.String())
	require.NotEqual(t, first.header.Get("Webhook-Signature"), second.header.Get("Webhook-Signature"))
	for _, broken := range []string{"", "no url", "ftp://hunter2"} {
		write("url", broken)
		_, err = r.request(failure(), tick)
		require.ErrorContains(t, err, "url_file")
		require.NotContains(t, err.Error(), "hunter2")
	}
}
