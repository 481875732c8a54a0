package view

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/solotick/solotick/fleet"
)

// historyCursor is the place of an outcome in a history, newest first.
type historyCursor struct {
	At    int64 `json:"a"` // its Moment, in Unix ms
	From  int64 `json:"f,omitempty"`
	Token int64 `json:"t,omitempty"`
}

func cursorOf(e fleet.Entry) historyCursor {
	c := historyCursor{At: e.Moment().UnixMilli(), Token: e.Token}
	if e.IsRange() {
		c.From = e.From.UnixMilli()
	}
	return c
}

// compare orders the newer first.
func (c historyCursor) compare(o historyCursor) int {
	return cmp.Or(cmp.Compare(o.At, c.At), cmp.Compare(o.Token, c.Token), cmp.Compare(o.From, c.From))
}

func (c historyCursor) String() string {
	text, _ := json.Marshal(c) //nolint:errchkjson // of numbers: it cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeHistoryCursor(s string) (c historyCursor, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || json.Unmarshal(text, &c) != nil {
		return historyCursor{}, false
	}
	return c, c.String() == s && c.At < time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}

func (p *parameters) historyCursor(name string) string {
	s := p.one(name)
	if s == "" {
		return ""
	}
	if _, ok := decodeHistoryCursor(s); !ok {
		p.fault(name, s, "must be a cursor that a page of this history gave")
		return ""
	}
	return s
}
