package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/jobs"
)

func validSpec() jobs.Spec {
	spec := jobs.Defaults()
	spec.Name, spec.Schedule = "nightly-report", "0 2 * * *"
	return spec
}

// faultsIn returns the faults that err joins; anything else in it fails the test.
func faultsIn(t *testing.T, err error) []*jobs.Fault {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%T joins nothing", err)
	var faults []*jobs.Fault
	for _, err := range joined.Unwrap() {
		fault, ok := err.(*jobs.Fault)
		require.True(t, ok, "%T is no fault", err)
		faults = append(faults, fault)
	}
	return faults
}

func TestDefaultsNeedOnlyANameAndASchedule(t *testing.T) {
	require.NoError(t, validSpec().Validate())

	var fields []string
	for _, fault := range faultsIn(t, jobs.Defaults().Validate()) {
		fields = append(fields, fault.Field)
	}
	require.Equal(t, []string{"name", "schedule"}, fields)
}

func TestEverySpecRule(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*jobs.Spec)
		field  string // "" when the change is fine
		value  string
		rule   string // part of it
	}{
		"name empty":          {func(s *jobs.Spec) { s.Name = "" }, "name", "", "letter or digit"},
		"name with a space":   {func(s *jobs.Spec) { s.Name = "a b" }, "name", "a b", "letter or digit"},
		"name with a slash":   {func(s *jobs.Spec) { s.Name = "a/b" }, "name", "a/b", "letter or digit"},
		"name with a newline": {func(s *jobs.Spec) { s.Name = "a\n" }, "name", "a\n", "letter or digit"},
		"name with a dot":     {func(s *jobs.Spec) { s.Name = ".a" }, "name", ".a", "letter or digit"},
		"name at its limit":   {func(s *jobs.Spec) { s.Name = strings.Repeat("a", 128) }, "", "", ""},
		"name past it":        {func(s *jobs.Spec) { s.Name = strings.Repeat("a", 129) }, "name", strings.Repeat("a", 129), "128"},
		"schedule unreadable": {func(s *jobs.Spec) { s.Schedule = "now and then" }, "schedule", "now and then", ""},
		"timezone":            {func(s *jobs.Spec) { s.Timezone = "Europe/Berlin" }, "", "", ""},
		"timezone unknown":    {func(s *jobs.Spec) { s.Timezone = "Mars/Olympus" }, "timezone", "Mars/Olympus", "IANA"},
		"timezone local":      {func(s *jobs.Spec) { s.Timezone = "Local" }, "timezone", "Local", "IANA"},
		"no timeout":          {func(s *jobs.Spec) { s.Timeout = 0 }, "", "", ""},
		"timeout":             {func(s *jobs.Spec) { s.Timeout = -time.Second }, "timeout", "-1s", "at least 0s"},
		"attempts":            {func(s *jobs.Spec) { s.Retry.MaxAttempts = 0 }, "retry.max_attempts", "0", "at least 1"},
		"backoff":             {func(s *jobs.Spec) { s.Retry.Backoff = -time.Second }, "retry.backoff", "-1s", "at least 0s"},
		"backoff past max": {func(s *jobs.Spec) { s.Retry.Backoff = 2 * time.Minute }, "retry.max_backoff", "1m0s",
			"at least retry.backoff, 2m0s"},
		"backoff at max":   {func(s *jobs.Spec) { s.Retry.Backoff = time.Minute }, "", "", ""},
		"delivery":         {func(s *jobs.Spec) { s.Delivery = jobs.AtMostOnce }, "", "", ""},
		"delivery empty":   {func(s *jobs.Spec) { s.Delivery = "" }, "delivery", "", "at_least_once, at_most_once"},
		"delivery unknown": {func(s *jobs.Spec) { s.Delivery = "twice" }, "delivery", "twice", "at_least_once, at_most_once"},
		"no takeovers":     {func(s *jobs.Spec) { s.MaxTakeovers = 0 }, "", "", ""},
		"takeovers":        {func(s *jobs.Spec) { s.MaxTakeovers = -1 }, "max_takeovers", "-1", "at least 0"},
		"overlap allowed":  {func(s *jobs.Spec) { s.Overlap = jobs.Allow }, "", "", ""},
		"overlap unknown":  {func(s *jobs.Spec) { s.Overlap = "pile" }, "overlap", "pile", "forbid, allow, queue, replace"},
		"overlap queued":   {func(s *jobs.Spec) { s.Overlap = jobs.Queue }, "", "", ""},
		"overlap replaced": {func(s *jobs.Spec) { s.Overlap = jobs.Replace }, "", "", ""},
		"no misfire grace": {func(s *jobs.Spec) { s.MisfireGrace = 0 }, "", "", ""},
		"misfire grace":    {func(s *jobs.Spec) { s.MisfireGrace = -1 }, "misfire_grace", "-1ns", "at least 0s"},
		"misfire all":      {func(s *jobs.Spec) { s.Misfire = jobs.MisfireAll }, "", "", ""},
		"misfire skip":     {func(s *jobs.Spec) { s.Misfire = jobs.MisfireSkip }, "", "", ""},
		"misfire unknown":  {func(s *jobs.Spec) { s.Misfire = "some" }, "misfire", "some", "skip, latest, all"},
		"catch-up window":  {func(s *jobs.Spec) { s.CatchUpWindow = -time.Hour }, "catch_up_window", "-1h0m0s", "at least 0s"},
		"catch-up count":   {func(s *jobs.Spec) { s.MaxCatchUp = -1 }, "max_catch_up", "-1", "from 0 to 10000"},
		"no catch-up":      {func(s *jobs.Spec) { s.CatchUpWindow, s.MaxCatchUp = 0, 0 }, "", "", ""},
		"jitter negative":  {func(s *jobs.Spec) { s.Jitter = -1 }, "jitter", "-1ns", "at least 0s"},
		"jitter too long": {func(s *jobs.Spec) { s.Schedule, s.Jitter = "@every 90s", 90*time.Second }, "jitter", "1m30s",
			"shorter than the time between two ticks, 1m30s"},
		"jitter just short": {func(s *jobs.Spec) { s.Schedule, s.Jitter = "@every 90s", 89*time.Second }, "", "", ""},
		"weight of nothing": {func(s *jobs.Spec) { s.Weight = 0 }, "weight", "0", "from 1 to 1000000"},
		"weight at most":    {func(s *jobs.Spec) { s.Weight = limits.MaxWeight }, "", "", ""},
		"weight too great":  {func(s *jobs.Spec) { s.Weight = limits.MaxWeight + 1 }, "weight", "1000001", "from 1 to 1000000"},
		"history at least":  {func(s *jobs.Spec) { s.History = limits.MinHistory }, "", "", ""},
		"history too short": {func(s *jobs.Spec) { s.History = limits.MinHistory - 1 }, "history", "3", "from 4 to 1000"},
		"history at most":   {func(s *jobs.Spec) { s.History = limits.MaxHistory }, "", "", ""},
		"history too long":  {func(s *jobs.Spec) { s.History = limits.MaxHistory + 1 }, "history", "1001", "from 4 to 1000"},
		"groups":            {func(s *jobs.Spec) { s.Groups = []string{"eu", "us-1"} }, "", "", ""},
		"groups misnamed":   {func(s *jobs.Spec) { s.Groups = []string{"eu", "u s"} }, "groups[1]", "u s", "letter or digit"},
		"paused":            {func(s *jobs.Spec) { s.Paused = true }, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := validSpec()
			test.change(&spec)
			err := spec.Validate()
			if test.field == "" {
				require.NoError(t, err)
				return
			}
			faults := faultsIn(t, err)
			require.Len(t, faults, 1, "%v", err)
			require.Equal(t, test.field, faults[0].Field)
			require.Equal(t, test.value, faults[0].Value)
			require.Contains(t, faults[0].Rule, test.rule)
			require.NotEmpty(t, faults[0].Rule)
		})
	}
}

func TestMaxCatchUpIsBounded(t *testing.T) {
	spec := validSpec()
	spec.MaxCatchUp = 10_000
	require.NoError(t, spec.Validate())
	spec.MaxCatchUp++
	err := spec.Validate()

	require.ErrorContains(t, err, "max_catch_up")
	require.ErrorContains(t, err, "10000")
}

func TestEveryFaultIsReportedAtOnce(t *testing.T) {
	spec := jobs.Spec{
		Name: "-", Schedule: "-", Timezone: "-",
		Timeout:       -1,
		Retry:         jobs.Retry{MaxAttempts: 0, Backoff: -1, MaxBackoff: -2},
		Delivery:      "-",
		MaxTakeovers:  -1,
		Overlap:       "-",
		MisfireGrace:  -1,
		Misfire:       "-",
		CatchUpWindow: -1,
		MaxCatchUp:    -1,
		Jitter:        -1,
		Rate:          jobs.Rate{Count: -1},
		Burst:         -1,
		Groups:        []string{"-", "-"},
	}
	var fields []string
	for _, fault := range faultsIn(t, spec.Validate()) {
		fields = append(fields, fault.Field)
	}
	require.Equal(t, []string{
		"name", "timezone", "schedule", "timeout", "retry.max_attempts", "retry.backoff", "retry.max_backoff", "delivery",
		"max_takeovers", "overlap", "misfire_grace", "misfire", "catch_up_window", "max_catch_up", "jitter",
		"rate", "burst", "weight", "history", "groups[0]", "groups[1]",
	}, fields)

	_, err := jobs.FromSpec(spec, nil)
	require.ErrorContains(t, err, `job "-": `)
	require.ErrorContains(t, err, `max_takeovers: "-1" must be at least 0`)
	require.ErrorContains(t, err, "handler: nil, must be a function")
}

func TestNilHandlerIsAFault(t *testing.T) {
	_, err := jobs.FromSpec(validSpec(), nil)
	require.EqualError(t, err, `job "nightly-report": handler: nil, must be a function`)
	_, err = jobs.FromSpec(validSpec(), func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, err)
}

func leaderSpec() jobs.Spec {
	spec := jobs.Defaults()
	spec.Name, spec.Leader = "indexer", true
	return spec
}

func TestLeaderTasksRefuseWhatNeedsASchedule(t *testing.T) {
	require.NoError(t, leaderSpec().Validate())

	spec := leaderSpec()
	spec.Schedule, spec.Timeout, spec.Jitter, spec.Rate = "@hourly", time.Minute, time.Second, jobs.Rate{Count: 1, Per: time.Hour}
	var found []string
	for _, fault := range faultsIn(t, spec.Validate()) {
		require.Contains(t, fault.Rule, "must be left out of a leader task: ")
		found = append(found, fault.Field+"="+fault.Value)
	}
	require.Equal(t, []string{"schedule=@hourly", "timeout=1m0s", "jitter=1s", "rate=1/1h"}, found)

	spec = leaderSpec()
	spec.Schedule = "now and then"
	require.Len(t, faultsIn(t, spec.Validate()), 1, "one fault for one value")
	spec = leaderSpec()
	spec.Timeout, spec.Jitter, spec.Rate = -1, -1, jobs.Rate{Count: -1}
	require.Len(t, faultsIn(t, spec.Validate()), 3, "one fault for each")
}

func TestTriggeredJobsHaveNoJitter(t *testing.T) {
	spec := jobs.Defaults()
	spec.Name, spec.Schedule = "reindex", "@triggered"
	require.NoError(t, spec.Validate())
	spec.Jitter = time.Second
	faults := faultsIn(t, spec.Validate())
	require.Len(t, faults, 1)
	require.EqualError(t, faults[0], `jitter: "1s" must be left out of a job that only triggers run: it has no ticks to shift`)
}

func TestLeaderTasksKeepTheirRestartPolicy(t *testing.T) {
	spec := leaderSpec()
	spec.Retry = jobs.Retry{MaxAttempts: 1, Backoff: 5 * time.Second, MaxBackoff: time.Minute}
	spec.Groups, spec.Paused, spec.Timezone = []string{"eu"}, true, "Europe/Berlin"
	require.NoError(t, spec.Validate())
	spec.Retry.MaxBackoff = time.Second
	require.Equal(t, "retry.max_backoff", faultsIn(t, spec.Validate())[0].Field)
}
