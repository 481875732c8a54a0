package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/solotick/solotick/internal/naming"
)

// Role says which acts a caller may do; the zero Role may do nothing.
type Role string

// The roles.
const (
	Read    Role = "read"    // see everything
	Operate Role = "operate" // and pause, resume, trigger, cancel, release, and change schedules in the store
)

// Caller is who sent a request. The zero Caller is nobody.
type Caller struct {
	// Name is recorded with whatever the caller changes. Characters that a name cannot have are
	// replaced.
	Name string
	Role Role
}

// by returns the caller's name, as the records of a fleet take it.
func (c Caller) by() string {
	clean := strings.Map(func(r rune) rune {
		if naming.Valid("x" + string(r)) {
			return r
		}
		return '-'
	}, c.Name)
	clean = strings.TrimLeft(clean, "._-")
	if clean = clean[:min(len(clean), 128)]; clean == "" {
		return "somebody"
	}
	return clean
}

// local is who reads on a loopback address, where nobody has to say who they are.
var local = Caller{Name: "local", Role: Read}

// authenticate returns who sent r, or the problem to answer with.
func (c *Console) authenticate(r *http.Request) (Caller, *problem) {
	switch {
	case c.options.access != nil:
		caller := c.options.access(r)
		if caller.Role != Read && caller.Role != Operate {
			return Caller{}, forbidden("this program lets you see nothing here")
		}
		return caller, nil
	case c.tokens == nil:
		if rule := loopbackOnly(r); rule != "" {
			return Caller{}, forbidden(rule)
		}
		return local, nil
	}
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		return c.bearer(r, values)
	}
	if caller, ok := c.sessions.caller(r, c.tokens); ok {
		return caller, nil
	}
	return Caller{}, unauthorized("this needs a bearer token, or a login")
}

func (c *Console) bearer(r *http.Request, values []string) (Caller, *problem) {
	scheme, secret, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return Caller{}, unauthorized("Authorization: must be Bearer and a token, once")
	}
	t, ok := c.tokens.find(strings.TrimSpace(secret))
	if !ok {
		return Caller{}, c.wrongToken(r, "Authorization: the token is not known")
	}
	return Caller{t.Name, t.Role}, nil
}

// Protect returns a handler that lets in whom the console lets in, and answers others as it does.
func (c *Console) Protect(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, p := c.authenticate(r); p != nil {
			secure(w.Header())
			p.write(w)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// may returns the problem of a caller without the role that a request needs.
func (c *Console) may(caller Caller, needs Role) *problem {
	if needs != Operate {
		return nil
	}
	switch {
	case c.options.readOnly:
		return forbidden("this console is read-only")
	case c.tokens == nil && c.options.access == nil:
		return forbidden("without tokens nothing can be changed here: configure tokens, or use the command line")
	case caller.Role != Operate:
		return forbidden("this needs the role operate; yours is " + string(caller.Role))
	}
	return nil
}

// loopbackOnly returns the rule that a request without tokens breaks; "" when it breaks none. Both
// ends of the connection have to be on this machine. So must the name that the client used. A page
// of another site, whose name was made to resolve to this machine, sends its requests to this
// address too. And a proxy on this machine speaks for others.
func loopbackOnly(r *http.Request) string {
	const rule = "without tokens this answers only on this machine, "
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if address == nil || !isLoopback(address.String()) {
		return rule + "and it was asked on another address: configure tokens"
	}
	if !isLoopback(r.RemoteAddr) {
		return rule + "and it was asked from another one: configure tokens"
	}
	if !isLocalHost(r.Host) {
		return rule + "by the name localhost or a loopback address: the Host header names another"
	}
	if name := proxyHeader(r.Header); name != "" {
		return rule + "and the header " + name + " shows a proxy: configure tokens"
	}
	return ""
}

// proxyHeader returns the name of a header that only a proxy adds; "" when there is none.
func proxyHeader(h http.Header) string {
	for _, name := range []string{
		"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Envoy-External-Address",
	} {
		if len(h.Values(name)) > 0 {
			return name
		}
	}
	for name := range h {
		if strings.HasPrefix(name, "X-Forwarded-") { // For, Host, Proto, Port, Server and others
			return name
		}
	}
	return ""
}

func isLoopback(address string) bool {
	ap, err := netip.ParseAddrPort(address)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// isLocalHost reports whether a Host header names this machine by a name that nobody else can
// claim.
func isLocalHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return strings.EqualFold(strings.TrimSuffix(name, "."), "localhost")
}
