package natslease_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/natslease"
)

// opened opens a store by a URL.
func opened(t testing.TB, url string, opts ...natslease.Option) *natslease.Store {
	t.Helper()
	s, err := natslease.Open(url, "fleet", append([]natslease.Option{natslease.WithTimeout(20 * time.Second)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestEveryFaultOfTheOptionsIsReported(t *testing.T) {
	_, err := natslease.New(nil, "a b", natslease.WithBucket("a.b"), natslease.WithReplicas(6), natslease.WithMaxBytes(-1),
		natslease.WithTimeout(time.Millisecond), nil)
	for _, text := range []string{
		"connection: nil must", `bucket "a.b" must`, "replicas 6 must", "max bytes -1 must", "timeout 1ms must", `namespace "a b"`, "options[4]: nil must",
	} {
		require.ErrorContains(t, err, text)
	}
}

func TestURLsThatSayNothingAreRefused(t *testing.T) {
	for url, want := range map[string]string{
		"nats://:s3cret@":             "must be one such as",
		"http://u:s3cret@h":           "must be one such as",
		"nats://u:s3cret@h/a.b":       `bucket "a.b"`,
		"nats://u:s3cret@h/b?x=1":     `has the option "x"`,
		"nats://u:s3cret@h?replicas=": "replicas must be a number",
		"nats://u:s3cret@h?%s3cret":   "options cannot be read",
		"nats://u:s3cret@h#f":         "must be one such as",
	} {
		_, err := natslease.Open(url, "fleet")
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t, natstest.WithConf(`accounts {
		fine { jetstream: enabled, users [
			{user: all, password: p}
			{user: least, password: p, permissions: {publish: ["$JS.API.STREAM.INFO.KV_least", "$JS.API.STREAM.CREATE.KV_least",
				"$JS.API.STREAM.MSG.GET.KV_least", "$JS.API.CONSUMER.CREATE.KV_least.>", "$JS.API.CONSUMER.MSG.NEXT.KV_least.>", "$KV.least.>"],
				subscribe: ["_INBOX.>"]}}
			{user: api, password: p, permissions: {publish: ["$JS.API.>"], subscribe: [">"]}}
			{user: values, password: p, permissions: {publish: ["$KV.>"], subscribe: [">"]}}
			{user: deaf, password: p, permissions: {publish: [">"], subscribe: ["x"]}}
		] }
		without { users [{user: none, password: p}] }
		small { jetstream: {max_file: 1M, max_mem: 1K, max_streams: 1}, users [{user: small, password: p}] }
	}`))
	url := func(user, rest string) string { return "nats://" + user + ":p@" + srv.Addr() + "/" + rest }
	fine := connect(t, srv.URL(), nats.UserInfo("all", "p"))
	for name, config := range map[string]string{
		"ages":   `"max_age": 60000000000, "discard": "new", "allow_msg_ttl": true`,
		"drops":  `"discard": "old", "allow_msg_ttl": true`,
		"no_ttl": `"discard": "new"`,
	} {
		stream(t, fine, "STREAM.CREATE.KV_"+name, `{"name": "KV_`+name+`", "subjects": ["$KV.`+name+`.>"], "max_msgs_per_subject": 1, `+config+`}`)
	}
	require.NoError(t, opened(t, url("small", "first")).Check(t.Context()))
	require.NoError(t, opened(t, url("least", "least")).Check(t.Context()))

	for _, test := range []struct {
		name, url, says, hint string
		permanent             bool
	}{
		{"wrong password", strings.Replace(url("all", ""), ":p@", ":wrong@", 1), "uthorization ", "check the user and the password", true},
		{"no server", "nats://127.0.0.1:1", "connection refused", "see that NATS runs", false},
		{"account without JetStream", url("none", ""), "JetStream not enabled for account", "for the account", true},
		{"no right to values", url("api", ""), `Publish to "$KV.solotick.fleet.`, "docs/stores.md", true},
		{"no right to the API", url("values", ""), `Publish to "$JS.API.STREAM.INFO.KV_solotick"`, "docs/stores.md", true},
		{"no right to answers", url("deaf", ""), `Subscription to "_INBOX.`, "docs/stores.md", true},
		{"replicas without a cluster", url("all", "three?replicas=3"), "replicas > 1 not supported", "fewer replicas", true},
		{"too many streams", url("small", "second"), "maximum number of streams", "number of streams", true},
		{"values that age", url("all", "ages"), "it keeps values for 1m0s only", "change the bucket", true},
		{"old values are discarded", url("all", "drops"), "it discards old values", "change the bucket", true},
		{"no TTL of messages", url("all", "no_ttl"), "it does not allow messages with a TTL", "2.11", true},
		{"domain that is none", url("all", "?domain=none"), "no responders", "enable JetStream", false},
		{"creds that are no file", url("all", "?creds=/none"), "/none", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, test.url, natslease.WithTimeout(short))
			// A connection that is not up yet says less.
			require.Eventually(t, func() bool {
				err := change(t.Context(), s, "job", driver.Change{ID: "x", Data: []byte("x")}).Err
				return err != nil && strings.Contains(err.Error(), test.says)
			}, time.Minute, 10*time.Millisecond)
			err := change(t.Context(), s, "job", driver.Change{ID: "x", Data: []byte("x")}).Err
			require.ErrorContains(t, err, test.says)
			require.Contains(t, s.Hint(err), test.hint)
			require.NotContains(t, err.Error(), "wrong")
			if test.permanent {
				require.ErrorIs(t, err, protocol.ErrPermanent)
			} else {
				require.NotErrorIs(t, err, protocol.ErrPermanent)
			}
		})
	}
}

func TestServerWithoutJetStreamIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t, natstest.WithoutJetStream())
	s := open(t, connect(t, srv.URL()))
	_, _, err := s.Time(t.Context())
	require.ErrorContains(t, err, "no responders")
	require.Contains(t, s.Hint(err), "enable JetStream")
}

func TestFullBucketKeepsRoomForWhatIsThere(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	s := opened(t, srv.URL()+"/full?max_bytes=200000")
	data := []byte(strings.Repeat("x", 10_000))
	var kept []driver.Version
	var err error
	require.Eventually(t, func() bool {
		id := fmt.Sprint("r", len(kept))
		res := change(t.Context(), s, fmt.Sprint("job", len(kept)), driver.Change{ID: id, Data: data,
			Leases: []driver.NewLease{{Holder: "a", TTL: time.Hour}}})
		if err = res.Err; err != nil {
			return true
		}
		kept = append(kept, res.Version)
		_, err := s.Facts(t.Context()) // looks how full it is
		require.NoError(t, err)
		return false
	}, time.Minute, time.Microsecond)
	require.ErrorContains(t, err, "nearly full")
	require.Contains(t, s.Hint(err), "greatest size")
	require.NotErrorIs(t, err, protocol.ErrPermanent)
	for i, v := range kept {
		res := s.Values().Do(t.Context(), []driver.Op{{Key: fmt.Sprint("job", i), Renew: &driver.Renewal{Token: v.Stamp, Holder: "a", TTL: time.Hour}}})[0]
		require.NoError(t, res.Err)
		require.Equal(t, driver.Done, res.Status)
		require.Equal(t, driver.Done, change(t.Context(), s, fmt.Sprint("job", i), driver.Change{From: v, ID: "next", Data: data}).Status)
	}
}

func TestValueOfAnotherProgramIsNamed(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	nc := connect(t, srv.URL())
	s := open(t, nc)
	changed(t, s, "job", driver.Version{}, "one")
	_, err := nc.Request("$KV.solotick.fleet.item.job", []byte("{"), 10*time.Second)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return read(t.Context(), s, "job").Err != nil }, time.Minute, time.Millisecond)
	err = read(t.Context(), s, "job").Err
	require.ErrorIs(t, err, driver.ErrRecord)
	require.ErrorContains(t, err, "job")
	changed(t, s, "other", driver.Version{}, "one")
}
