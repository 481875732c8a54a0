package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/redislease"
)

// causes are words of which a missed tick's explanation holds those of its cause alone.
var causes = []string{"because Redis did not answer", "because no replica lived", "because no replica of group", "because the schedule was changed", "is not known"}

// missedFor waits until why says of a tick that was missed after an instant, and before another,
// that this was for a cause, and requires that it names no other.
func (f *fleet) missedFor(cause, job string, after, before time.Time, words ...string) {
	f.t.Helper()
	var tick time.Time
	require.Eventually(f.t, func() bool {
		for _, p := range f.history(job) {
			// One that came well within the time, whose ends nobody knows exactly.
			for at := p.Scheduled; p.Outcome == "missed" && at.After(after); at = at.Add(-time.Second) {
				if p.has(at) && at.Before(before) && strings.Contains(f.why(job, at), cause) {
					tick = at
					return true
				}
			}
		}
		return false
	}, patience, 200*time.Millisecond, "no tick of %s after %s was missed since %s: %+v", job, after, cause, f.history(job))
	text := f.why(job, tick)
	f.t.Log(text)
	for _, other := range causes {
		require.Equal(f.t, other == cause, strings.Contains(text, other), "%q in %s", other, text)
	}
	for _, word := range words {
		require.Contains(f.t, text, word)
	}
}

func TestWhyNamesTheCauseOfMissedTick(t *testing.T) {
	t.Parallel()
	const wait = 5 * time.Second
	strict := []string{"misfire: skip", "misfire_grace: 1s"}
	f := orderlyFleet(t, 2*time.Second, job("all", "@every 1s", 0, strict...), job("ineu", "@every 1s", 0, append(strict, "groups: [eu]")...))
	everywhere := f.configText()
	inEU := func(name string) *worker {
		f.writeConfig("groups: [eu]\n" + everywhere)
		w := f.start(name)
		w.waitReady()
		f.writeConfig(everywhere)
		return w
	}
	ws := byName(f.startAll("r1", "r2"))
	eu := inEU("eu1")
	f.waitRun("both run", 20*time.Second, func(r *run) bool { return r.job == "ineu" })

	down := time.Now()
	f.redis.Freeze()
	time.Sleep(wait)
	f.redis.Thaw()
	f.missedFor("because Redis did not answer", "all", down.Add(time.Second), down.Add(wait-time.Second), " noted")

	down = time.Now()
	eu.kill()
	time.Sleep(wait)
	eu = inEU("eu2")
	f.missedFor("because no replica of group", "ineu", down.Add(time.Second), down.Add(wait), "no replica of group eu lived", "(eu1)", "(eu2)")

	down = time.Now()
	for _, w := range ws {
		w.kill()
	}
	eu.kill()
	time.Sleep(wait)
	restart(ws, ws["r1"])
	f.missedFor("because no replica lived", "all", down.Add(time.Second), down.Add(wait), "the fleet's last heartbeat came at ", "and the next replica at ", "(r1)")

	down = time.Now()
	ws["r1"].kill()
	time.Sleep(wait)
	// "all" comes with ticks between those that it had, "ineu" as it was.
	f.writeConfig(strings.Replace(everywhere, `"@every 1s"`, `"@every 7s"`, 1))
	restart(ws, ws["r1"])
	f.waitFor("the new schedule is in the record", 20*time.Second, func([]*run) bool { return len(f.edits("all")) == 1 })
	edit := f.edits("all")[0]
	require.Equal(t, "r1", edit.By)
	require.Contains(t, edit.Schedule, "@every 7s")
	require.Contains(t, edit.Before, "@every 1s")
	require.True(t, edit.From.After(down.Add(wait-time.Second)))
}

// edit is who brought a schedule first, and when.
type edit struct {
	Kind, By, Schedule, Before string
	From                       time.Time
}

// edits returns the edits of a job's schedule that its journal holds.
func (f *fleet) edits(job string) (list []edit) {
	f.t.Helper()
	store, err := redislease.New(f.redis.Client(f.t), "fleet")
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, store.Close()) }()
	notes, err := store.Notes(f.t.Context(), job, 0)
	require.NoError(f.t, err)
	for _, n := range notes {
		var e struct {
			Kind, By, Schedule, Before string
			From                       int64
		}
		require.NoError(f.t, json.Unmarshal(n.Text, &e))
		if e.Kind == "edited" {
			list = append(list, edit{e.Kind, e.By, e.Schedule, e.Before, time.UnixMilli(e.From)})
		}
	}
	return list
}

func TestWhyAndHistoryNameWhoDidWhat(t *testing.T) {
	t.Parallel()
	f := orderlyFleet(t, 2*time.Second, rare("long", 30), job("often", "@every 1s", 0), leaderTask("led", 100000))
	ws := byName(f.startAll("r1", "r2", "r3"))

	id := f.do("trigger", "long", "--by", "anna", "--key", "deploy-1")
	victim := f.begun("long")
	ws[victim.replica].kill()
	again := f.waitRun("it is taken over", 20*time.Second, func(r *run) bool { return r.tick == victim.tick && r.attempt == 2 && r.ended })
	explained := func(args ...string) string {
		return f.do(append([]string{"why"}, args...)...)
	}
	require.Eventually(t, func() bool { return strings.Contains(explained("long", id), " until its lease ran out at ") }, patience, 200*time.Millisecond)
	text := explained("long", id)
	t.Log(text)
	require.Contains(t, text, "It was triggered by hand, by anna at ")
	require.Contains(t, text, ` with key "deploy-1". `+again.replica)
	require.Contains(t, text, " "+victim.replica+" held it from ")
	require.Contains(t, text, again.replica+" took it over.")
	var list []struct {
		ID          string
		TriggeredBy string `json:"triggered_by"`
		Key         string `json:"trigger_key"`
		Holders     []struct {
			Replica  string
			From, To time.Time
			Released bool
		} `json:"former_holders"`
	}
	require.NoError(t, json.Unmarshal([]byte(f.do("history", "long", "--output", "json")), &list))
	require.Len(t, list, 1)
	require.Equal(t, []string{id, "anna", "deploy-1"}, []string{list[0].ID, list[0].TriggeredBy, list[0].Key})
	require.Len(t, list[0].Holders, 1)
	require.Equal(t, victim.replica, list[0].Holders[0].Replica)
	require.True(t, list[0].Holders[0].To.After(list[0].Holders[0].From))
	require.Contains(t, f.do("history", "long"), "triggered by anna, key deploy-1; taken over from "+victim.replica+" (lease ran out)")
	restart(ws, ws[victim.replica])

	f.do("pause", "often", "--by", "ops1", "--reason", "the index moves")
	paused := time.Now()
	time.Sleep(2500 * time.Millisecond)
	f.do("resume", "often", "--by", "ops3")
	text = f.why("often", paused.Truncate(time.Second).Add(time.Second))
	require.Contains(t, text, "It was skipped because the job was paused by ops1 at ")
	require.Contains(t, text, `because "the index moves", until ops3 resumed it at `)

	leads := f.waitRun("it leads", 20*time.Second, func(r *run) bool { return r.job == "led" && time.Since(r.last) < time.Second })
	ws[leads.replica].kill()
	f.waitRun("another leads", 20*time.Second, func(r *run) bool { return r.job == "led" && r.token > leads.token })
	require.Eventually(t, func() bool { return strings.Contains(f.do("history", "led"), leads.replica) }, patience, 200*time.Millisecond)
	require.Regexp(t, leads.replica+` +.*expired`, f.do("history", "led"))
	require.Contains(t, explained("led"), leads.replica+" led from ")
}
