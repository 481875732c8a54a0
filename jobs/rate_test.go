package jobs_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestARateIsACountAndATime(t *testing.T) {
	for text, want := range map[string]jobs.Rate{
		"":                    {},
		"1/10m":               {Count: 1, Per: 10 * time.Minute},
		"5/1h30m":             {Count: 5, Per: 90 * time.Minute},
		"1/1ms":               {Count: 1, Per: time.Millisecond},
		"1000/1s":             {Count: 1000, Per: time.Second},
		"1/8760h":             {Count: 1, Per: 365 * 24 * time.Hour},
		"2000000000/8760h":    {Count: 2000000000, Per: 365 * 24 * time.Hour},
		"2/1.5s":              {Count: 2, Per: 1500 * time.Millisecond},
		"1/1h0m1s":            {Count: 1, Per: time.Hour + time.Second},
		"007/24h":             {Count: 7, Per: 24 * time.Hour},
		"1/10m0s":             {Count: 1, Per: 10 * time.Minute},
		"10/1000ms":           {Count: 10, Per: time.Second},
		"3/1h20m":             {Count: 3, Per: 80 * time.Minute},
		"3/1h0m0.5s":          {Count: 3, Per: time.Hour + 500*time.Millisecond},
		"1000000/16m40s":      {Count: 1000000, Per: 1000 * time.Second},
		"9/8759h59m59.999s":   {Count: 9, Per: 365*24*time.Hour - time.Millisecond},
		"2/8759h59m59.99999s": {Count: 2, Per: 365*24*time.Hour - 10*time.Microsecond},
	} {
		got, err := jobs.ParseRate(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := jobs.ParseRate(got.String())
		require.NoError(t, err, got.String())
		require.Equal(t, got, again, "%s is read as it is written", got)
	}
	require.Equal(t, "1/10m", jobs.Rate{Count: 1, Per: 10 * time.Minute}.String())
	require.Equal(t, "2/1h", jobs.Rate{Count: 2, Per: time.Hour}.String())
	require.Equal(t, "2/1h20m", jobs.Rate{Count: 2, Per: 80 * time.Minute}.String())
	require.Equal(t, "2/10s", jobs.Rate{Count: 2, Per: 10 * time.Second}.String())
}

func TestFaultsOfRatesSayTheRule(t *testing.T) {
	for _, text := range []string{
		"10m", "1", "1/", "/10m", "/", "0/10m", "-1/10m", "+1/10m", "1.5/10m", "1/10", "1/0s", "1/-10m", "1/8760h1ns", "1/8761h",
		"1/999us", "1001/1s", "1/1h/2", " 1/1h", "1 /1h", "1/ 1h", "a/1h", "1/day", "99999999999999999999/1h", "1/9999999h",
		"18446744073709551615/1h", "1\n/1h",
	} {
		rate, err := jobs.ParseRate(text)
		require.Zero(t, rate, text)
		fault, ok := errors.AsType[*jobs.Fault](err)
		require.True(t, ok, text)
		require.Equal(t, "rate", fault.Field)
		require.Equal(t, text, fault.Value)
		require.Contains(t, fault.Rule, "such as 1/10m")
	}
}

func TestARateTravelsAsText(t *testing.T) {
	type holder struct{ Rate jobs.Rate }
	text, err := json.Marshal(holder{jobs.Rate{Count: 3, Per: time.Hour}})
	require.NoError(t, err)
	require.JSONEq(t, `{"Rate": "3/1h"}`, string(text))
	var back holder
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, holder{jobs.Rate{Count: 3, Per: time.Hour}}, back)
	require.Error(t, json.Unmarshal([]byte(`{"Rate": "often"}`), &back))
	require.Equal(t, holder{jobs.Rate{Count: 3, Per: time.Hour}}, back, "a fault leaves it as it was")
	require.Equal(t, 20*time.Minute, back.Rate.Every())
	require.Zero(t, jobs.Rate{}.Every())
	require.True(t, jobs.Rate{}.IsZero())
	require.False(t, back.Rate.IsZero())
}

func TestARateOfASpecKeepsItsRanges(t *testing.T) {
	day := 24 * time.Hour
	for _, test := range []struct {
		rate  jobs.Rate
		burst int
		field string
	}{
		{jobs.Rate{}, 0, ""},
		{jobs.Rate{}, 1, ""},
		{jobs.Rate{}, 5, ""},
		{jobs.Rate{}, -1, "burst"},
		{jobs.Rate{}, 1_000_001, "burst"},
		{jobs.Rate{Count: 1, Per: time.Minute}, 1_000_000, ""},
		{jobs.Rate{Count: 1, Per: time.Minute}, 1_000_001, "burst"},
		{jobs.Rate{Count: 1, Per: time.Minute}, 1, ""},
		{jobs.Rate{Count: 1, Per: time.Minute}, 100, ""},
		{jobs.Rate{Count: 1, Per: time.Minute}, 0, "burst"},
		{jobs.Rate{Count: 1, Per: 365 * day}, 1, ""},
		{jobs.Rate{Count: 1, Per: 365*day + 1}, 1, "rate"},
		{jobs.Rate{Count: 1000, Per: time.Second}, 1, ""},
		{jobs.Rate{Count: 1001, Per: time.Second}, 1, "rate"},
		{jobs.Rate{Count: math.MaxInt, Per: time.Hour}, 1, "rate"},
		{jobs.Rate{Count: 1}, 1, "rate"},
		{jobs.Rate{Per: time.Hour}, 1, "rate"},
		{jobs.Rate{Count: -1, Per: time.Hour}, 1, "rate"},
		{jobs.Rate{Count: -1, Per: -time.Hour}, 1, "rate"},
	} {
		spec := validSpec()
		spec.Rate, spec.Burst = test.rate, test.burst
		err := spec.Validate()
		if test.field == "" {
			require.NoError(t, err, "%+v", test)
			continue
		}
		faults := faultsIn(t, err)
		require.Len(t, faults, 1, "%+v", test)
		require.Equal(t, test.field, faults[0].Field)
	}
}
