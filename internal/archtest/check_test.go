package archtest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

const module = "github.com/solotick/solotick"

// node is a package: what it imports, and whether it belongs to the standard library.
type node struct {
	imports  []string
	standard bool
}

// graph has the packages of the module and all that they import, by import path.
type graph map[string]node

// violation is an import that breaks a rule.
type violation struct {
	pkg, imported, reason string
	chain                 []string // how pkg comes to it, both included
}

func (v violation) String() string {
	return fmt.Sprintf("%s must not import %s: %s\n\tby way of: %s\n\tIf it is meant, change internal/archtest/rules_test.go and say why.",
		short(v.pkg), short(v.imported), v.reason, strings.Join(v.chain, " -> "))
}

// check returns every violation in the packages of the module, each once: at the package that could
// do without it, and with the reason that is nearest to the import.
func (g graph) check() (found []violation) {
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		if !own(pkg) {
			continue
		}
		banned := g.checkForbidden(pkg)
		found = append(found, banned...)
		for _, v := range g.checkLayer(pkg) {
			if !slices.ContainsFunc(banned, func(b violation) bool { return b.imported == v.imported }) {
				found = append(found, v)
			}
		}
	}
	return found
}

func (g graph) checkLayer(pkg string) (found []violation) {
	pattern, ok := longest(maps.Keys(layers), pkg)
	if !ok {
		return nil
	}
	l := layers[pattern]
	for _, imported := range g[pkg].imports {
		if g[imported].standard || matchesAny(l.may, imported) {
			continue
		}
		reason := fmt.Sprintf("%s (besides the standard library it may import %s)", l.reason, listed(l.may))
		found = append(found, violation{pkg, imported, reason, []string{short(pkg), short(imported)}})
	}
	return found
}

func (g graph) checkForbidden(pkg string) (found []violation) {
	for _, pattern := range slices.Sorted(maps.Keys(forbidden)) {
		b := forbidden[pattern]
		if matchesAny(b.except, pkg) {
			continue
		}
		if chain := g.chain(pkg, pattern); chain != nil {
			imported := chain[len(chain)-1]
			for i := range chain {
				chain[i] = short(chain[i])
			}
			found = append(found, violation{pkg, imported, b.reason, chain})
		}
	}
	return found
}

// chain returns the shortest way from pkg to an import that matches pattern. It leads through other
// modules only: a package of this one answers for itself.
func (g graph) chain(pkg, pattern string) []string {
	from := map[string]string{pkg: ""}
	for queue := []string{pkg}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != pkg && matches(pattern, at) {
			var way []string
			for ; at != ""; at = from[at] {
				way = append([]string{at}, way...)
			}
			return way
		}
		if at != pkg && (own(at) || g[at].standard) {
			continue
		}
		for _, next := range g[at].imports {
			if _, seen := from[next]; !seen {
				from[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func own(pkg string) bool { return pkg == module || strings.HasPrefix(pkg, module+"/") }

// short is an import path as patterns write it, without the ./ of the module's own.
func short(pkg string) string { return strings.TrimPrefix(pkg, module+"/") }

func listed(patterns []string) string {
	if len(patterns) == 0 {
		return "nothing"
	}
	return strings.Join(patterns, ", ")
}

func longest(patterns func(func(string) bool), pkg string) (pattern string, ok bool) {
	for p := range patterns {
		if matches(p, pkg) && len(p) > len(pattern) {
			pattern, ok = p, true
		}
	}
	return pattern, ok
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

func matches(pattern, pkg string) bool {
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = module + "/" + rest
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		pattern = base
		want, have := strings.Count(base, "/"), strings.Split(pkg, "/")
		pkg = strings.Join(have[:min(len(have), want+1)], "/")
	}
	ok, err := path.Match(pattern, pkg)
	if err != nil {
		panic(fmt.Sprintf("archtest: pattern %q: %v", pattern, err))
	}
	return ok
}
