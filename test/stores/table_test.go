package stores

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	foundFile = "testdata/found.json"
	docFile   = "../../docs/stores.md"
	beginning = "<!-- what test/stores found -->\n"
	ending    = "<!-- end of what test/stores found -->\n"
	busy      = 10 // seconds that a busy machine may add to what a promise allows
)

// results are findings by store, fault and promise.
type results map[string]map[string]map[string]finding

func (r results) add(store, fault string, found map[string]finding) {
	if r[store] == nil {
		r[store] = map[string]map[string]finding{}
	}
	r[store][fault] = found
}

// merge takes what was found now, and drops what the suite no longer has.
func (r results) merge(now results) {
	for store, faults := range now {
		for fault, found := range faults {
			r.add(store, fault, found)
		}
	}
	for store, faults := range r {
		if !slices.ContainsFunc(kits, func(k kit) bool { return k.name == store }) {
			delete(r, store)
		}
		for fault := range faults {
			if !slices.ContainsFunc(scenes, func(s scene) bool { return s.fault == fault }) {
				delete(faults, fault)
			}
		}
	}
}

// compare returns what was found now, and is not what was written down.
func (r results) compare(written results) (faults []string) {
	for store, list := range r {
		for fault, found := range list {
			for promise, f := range found {
				was := written[store][fault][promise]
				late := f.Later > was.Later+busy/int(ttl.Seconds())
				if f.Kept && !was.Kept && !was.Cannot && was.Reason != "" && (isChance(fault) || f.Runs < was.Runs) {
					continue // it may be broken in one run of many
				}
				if f.Kept != was.Kept || f.Cannot != was.Cannot || f.Reason != was.Reason || late {
					faults = append(faults, fmt.Sprintf("%s: %s: %s: the table says %q, and now it is %q", store, fault, promise, was, f))
				}
			}
		}
	}
	return faults
}

func isChance(fault string) bool {
	return slices.ContainsFunc(scenes, func(s scene) bool { return s.fault == fault && s.chance })
}

// String is the text of a cell.
func (f finding) String() string {
	switch {
	case f == finding{Runs: f.Runs}:
		return ""
	case f.Cannot:
		return f.Reason
	case !f.Kept:
		return "no: " + f.Reason
	case f.Later > 0:
		return fmt.Sprintf("up to %d s later", f.Later*int(ttl.Seconds()))
	}
	return "yes"
}

// table is the table of docs/stores.md: how it is made, what the promises mean, a row for each fault, and notes.
func (r results) table() string {
	var b strings.Builder
	b.WriteString("Made by `go test ./test/stores -update`: the long form, each fault on each store.\n" +
		"`make test` repeats the rows with a star and compares, with two stars on three stores, `make soak` all. A promise is kept\n" +
		"if it was in every run; the last column says in how many at least each cell of a row was seen.\n\n")
	b.WriteString("| promise | |\n| --- | --- |\n")
	for _, m := range meanings {
		fmt.Fprintf(&b, "| %s | %s |\n", m.promise, m.meaning)
	}
	b.WriteString("\n| |")
	for _, k := range kits {
		b.WriteString(" " + k.name + " |")
	}
	b.WriteString(" runs |\n|" + strings.Repeat(" --- |", len(kits)+2) + "\n")
	var n notes
	for _, s := range scenes {
		star := ""
		switch {
		case s.quick && s.outage:
			star = "\\*\\*"
		case s.quick:
			star = "\\*"
		}
		least := math.MaxInt
		b.WriteString("| " + s.fault + star + " |")
		for _, k := range kits {
			found := r[k.name][s.fault]
			for _, f := range found {
				if !f.Cannot {
					least = min(least, max(f.Runs, 1))
				}
			}
			text := cell(found, &n)
			_, cannot := found[""]
			if s.fault == failedOver && k.successor != "" && !cannot {
				text += "; " + n.number(k.successor)
			}
			if s.fault == restored && k.coldRestore && !cannot {
				text += "; " + n.number("all workers are stopped meanwhile: nobody knows more than the copy")
			}
			b.WriteString(" " + text + " |")
		}
		fmt.Fprintf(&b, " %d |\n", least)
	}
	b.WriteString("\n")
	for i, note := range n {
		fmt.Fprintf(&b, "%d. %s\n", i+1, note)
	}
	return b.String()
}

// notes are the reasons that cells refer to.
type notes []string

func (n *notes) number(reason string) string {
	i := slices.Index(*n, reason)
	if i < 0 {
		i = len(*n)
		*n = append(*n, reason)
	}
	return fmt.Sprintf("(%d)", i+1)
}

// cell has what is not as promised, of a store and a fault.
func cell(found map[string]finding, n *notes) string {
	if f, ok := found[""]; ok {
		return "– " + n.number(f.Reason)
	}
	if len(found) == 0 {
		return ""
	}
	var broken, weaker []string
	for _, m := range meanings {
		switch f, ok := found[m.promise]; {
		case ok && !f.Kept:
			broken = append(broken, m.promise+" "+n.number(f.Reason))
		case ok && f.Later > 0:
			weaker = append(weaker, m.promise+" "+f.String())
		}
	}
	switch text := strings.Join(weaker, ", "); {
	case len(broken) > 0 && text != "":
		return "**not** " + strings.Join(broken, ", ") + "; " + text
	case len(broken) > 0:
		return "**not** " + strings.Join(broken, ", ")
	case text != "":
		return "yes; " + text
	}
	return "yes"
}

func load(t *testing.T) (r results) {
	t.Helper()
	r = results{}
	text, err := os.ReadFile(foundFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

// save writes what was found, and the table.
func (r results) save(t *testing.T) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", "\t")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(foundFile, append(text, '\n'), 0o600))
	doc, err := os.ReadFile(docFile)
	require.NoError(t, err)
	before, after := cut(t, string(doc))
	require.NoError(t, os.WriteFile(docFile, []byte(before+r.table()+after), 0o600))
}

// section is what is between the two comments of docs/stores.md.
func section(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(docFile)
	require.NoError(t, err)
	before, after := cut(t, string(doc))
	return string(doc[len(before) : len(doc)-len(after)])
}

func cut(t *testing.T, doc string) (before, after string) {
	t.Helper()
	i, j := strings.Index(doc, beginning), strings.Index(doc, ending)
	require.Positive(t, i)
	require.Greater(t, j, i)
	return doc[:i+len(beginning)], doc[j:]
}
