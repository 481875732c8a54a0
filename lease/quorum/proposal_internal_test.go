package quorum

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/quorumnode"
)

func threeNodes() *registers {
	c := newClock(3)
	c.answered(0, c.local(), time.Now())
	return &registers{nodes: &nodes{list: make([]Node, 3), timeout: time.Second, about: make([]about, 3), clock: c}}
}

func answers(replies ...quorumnode.Reply) (counted []answer) {
	for i, r := range replies {
		counted = append(counted, answer{node: i, state: quorumnode.State{ID: string(rune('a' + i)), Replies: []quorumnode.Reply{r}}})
	}
	return counted
}

func held(ballot string) quorumnode.Reply {
	return quorumnode.Reply{Accepted: ballot, Value: envelope{Format: format, value: "v", Lineage: []string{ballot}}.String()}
}

func TestAPromiseIsOneOfAMajority(t *testing.T) {
	p := &proposal{ballot: "5"}
	v, err := threeNodes().view(p, 0, answers(quorumnode.Reply{OK: true}, quorumnode.Reply{Promised: "6"}), nil, 0)
	require.NoError(t, err)
	require.False(t, v.promised)
	v, err = threeNodes().view(p, 0, answers(quorumnode.Reply{OK: true}, quorumnode.Reply{OK: true}), nil, 0)
	require.NoError(t, err)
	require.True(t, v.promised)
}

func TestAValueIsChosenByAMajority(t *testing.T) {
	v, err := threeNodes().view(&proposal{}, 0, answers(held("1"), held("2")), nil, 0)
	require.NoError(t, err)
	require.False(t, v.chosen)
	require.Equal(t, "2", v.newest.Accepted)
	v, err = threeNodes().view(&proposal{}, 0, answers(held("2"), held("1"), held("2")), nil, 0)
	require.NoError(t, err)
	require.True(t, v.chosen)
}

// A try that is not seen may still be chosen by somebody else, until something is accepted with a
// higher ballot.
func TestOutcomeIsUnknownWhileATryIsPending(t *testing.T) {
	calls := 0
	unchanged := func(reading) (outcome, error) { calls++; return outcome{}, nil }
	p := &proposal{request: request{apply: unchanged}, tries: []try{{ballot: "3", changes: 1}}}
	v, err := threeNodes().view(p, 0, answers(held("1"), held("1")), nil, 0)
	require.NoError(t, err)
	require.NoError(t, p.learn(v))
	require.False(t, p.done)

	p.ballot, v.promised = "4", true // then it is written back, with a higher ballot
	require.NoError(t, p.learn(v))
	require.False(t, p.done)
	require.NotEmpty(t, p.next)

	v, err = threeNodes().view(p, 0, answers(held("4"), held("4")), nil, 0)
	require.NoError(t, err)
	require.NoError(t, p.learn(v))
	require.True(t, p.done)
	require.Equal(t, 3, calls)
}

// A proposer that finds that others have built upon its try knows that it was chosen; one that too
// many have overtaken does not.
func TestOvertakenProposalsKnowWhetherTheyWereChosen(t *testing.T) {
	refused := func(reading) (outcome, error) { t.Error("applied again"); return outcome{}, nil }
	finished := false
	p := &proposal{request: request{apply: refused, once: true}, tries: []try{{ballot: "3", changes: 1, result: outcome{next: "mine", done: func() { finished = true }}}}}
	var e envelope
	for _, ballot := range []string{"3", "4", "5"} {
		e = e.after(ballot, "v", new(view))
	}
	at := quorumnode.Reply{Accepted: "5", Value: e.String()}
	v, err := threeNodes().view(p, 0, answers(at, at), nil, 0)
	require.NoError(t, err)
	require.NoError(t, p.learn(v))
	require.True(t, finished)

	for range remembered {
		e = e.after("6", "v", new(view))
	}
	at = quorumnode.Reply{Accepted: "6", Value: e.String()}
	v, err = threeNodes().view(p, 0, answers(at, at), nil, 0)
	require.NoError(t, err)
	require.ErrorIs(t, p.learn(v), errContended)
}

func TestOldAnswersDoNotSetSince(t *testing.T) {
	n := threeNodes().nodes
	later := time.Unix(100, 0)
	require.NoError(t, n.learn(0, 2, quorumnode.State{ID: "a", Since: later}))
	require.NoError(t, n.learn(0, 1, quorumnode.State{ID: "a", Since: time.Unix(1, 0)}))
	require.Equal(t, later, n.about[0].since)
}
