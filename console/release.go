package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/internal/protocol"
)

// releaseOrder is which grant of a lock is to end.
type releaseOrder struct {
	name   string
	token  int64
	reason string
}

var releaseFields = []string{"name", "token", "reason"}

func parseRelease(v url.Values) (o releaseOrder, p *problem) {
	var faults []fault
	o.name, o.reason = v.Get("name"), oneLine(v.Get("reason"))
	if !protocol.ValidName(o.name) {
		faults = append(faults, fault{"name", shortened(o.name), protocol.NameRule})
	}
	var err error
	if o.token, err = strconv.ParseInt(v.Get("token"), 10, 64); err != nil || o.token < 1 || o.token >= 1<<53 {
		faults = append(faults, fault{"token", shortened(v.Get("token")), "must be the token of a grant, a whole number above 0"})
	}
	if rule := reasonRule(o.reason); rule != "" {
		faults = append(faults, fault{"reason", shortened(o.reason), rule})
	}
	if faults != nil {
		return o, badRequest(faults...)
	}
	return o, nil
}

// confirmRelease shows the consequences of releasing a lock by force.
func (q *request) confirmRelease() (any, error) {
	v, err := q.parameters(slices.Concat(releaseFields, pageParameters)...)
	if err != nil {
		return nil, err
	}
	o, p := parseRelease(v)
	if p != nil {
		return nil, p
	}
	if _, err := q.now(); err != nil {
		return nil, err
	}
	with, err := q.withLocks()
	if err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(with.Locks, o.name, func(l protocol.Lock, name string) int { return strings.Compare(l.Name, name) })
	if !ok {
		return nil, notFound(fmt.Sprintf("lock %s: nobody holds it", o.name))
	}
	held := with.Locks[i]
	hold := slices.IndexFunc(held.Holds, func(h protocol.Hold) bool { return h.Token == o.token })
	if hold < 0 {
		return nil, notFound(fmt.Sprintf("lock %s: token %d holds nothing", o.name, o.token))
	}
	return page.ConfirmPage{
		Action: page.Release, Names: []string{o.name}, Total: 1, Reason: o.reason, Back: "/locks",
		Fields: []page.Field{{Name: "name", Value: o.name}, {Name: "token", Value: strconv.FormatInt(o.token, 10)}},
		Facts: []string{
			with.Say("Held by %s since %s, with token %d.", held.Holds[hold].Holder, held.Holds[hold].Since.UTC().Format("2006-01-02 15:04:05 MST"), o.token),
			with.Say("Waiting: %d.", held.Waiters),
		},
	}, nil
}

func (q *request) submitRelease() *problem {
	form, p := q.form(releaseFields...)
	if p != nil {
		return p
	}
	o, p := parseRelease(form)
	if p != nil {
		return p
	}
	if err := q.c.release(q.r.Context(), o.name, o.token, q.act(form)); err != nil {
		return problemOf(err)
	}
	q.redirect("/locks")
	return nil
}

// released is the answer to a release.
type released struct {
	Name  string `json:"name"`
	Token int64  `json:"token"`
}

func (q *request) callRelease() (any, error) {
	v, p := q.body(releaseFields)
	if p != nil {
		return nil, p
	}
	o, p := parseRelease(v)
	if p != nil {
		return nil, p
	}
	return released{o.name, o.token}, q.c.release(q.r.Context(), o.name, o.token, q.act(v))
}
