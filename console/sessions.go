package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	sessionCookie   = "solotick_session_" // and a part that follows from the secret
	sessionLifetime = 12 * time.Hour
	sessionSkew     = time.Hour // the clocks of two workers may differ by this much
	maxLoggedOut    = 1000      // one more forgets another
)

// sessions are the logins of browsers. A session is a cookie with its end and an id, signed with a
// key that follows from the token's secret: every worker with that token accepts it, also after a
// restart. It ends when the token changes or goes, and has the role that the token has now. A
// logout removes the cookie, and the worker that was asked refuses copies of it. It is safe for
// concurrent use.
type sessions struct {
	mu        sync.Mutex
	loggedOut map[string]time.Time // cookies, and when they end by themselves
}

// cookieName returns the name of the cookie of a token. A browser sends the cookies of a host to
// each of its ports, so workers with other tokens must have other names.
func (k knownToken) cookieName() string {
	return sessionCookie + hex.EncodeToString(k.sign("name")[:4])
}

// sign returns the signature of a text.
func (k knownToken) sign(text string) []byte {
	mac := hmac.New(sha256.New, k.sum[:])
	mac.Write([]byte("solotick session\n" + text))
	return mac.Sum(nil)
}

// session returns the cookie's value of a session that begins now.
func (k knownToken) session(now time.Time) string {
	text := strconv.FormatInt(now.Add(sessionLifetime).Unix(), 10) + "." + rand.Text()
	return text + "." + base64.RawURLEncoding.EncodeToString(k.sign(text))
}

// endOf returns when the session of a cookie ends; false when the token has not signed it.
func (k knownToken) endOf(value string) (end time.Time, ok bool) {
	i := strings.LastIndexByte(value, '.')
	if i < 0 || !hmac.Equal([]byte(value[i+1:]), []byte(base64.RawURLEncoding.EncodeToString(k.sign(value[:i])))) {
		return end, false
	}
	seconds, _, _ := strings.Cut(value, ".")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(unix, 0), err == nil
}

// begin starts a session for the bearer of a token, and sets its cookie. The sessions that the
// request came with end.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, known *tokens, token knownToken) {
	s.end(w, r, known)
	setSessionCookie(w, r, token.cookieName(), token.session(time.Now()), int(sessionLifetime.Seconds()))
}

// end ends the sessions of the request, and removes their cookies.
func (s *sessions) end(w http.ResponseWriter, r *http.Request, known *tokens) {
	for _, token := range known.all() {
		cookie, err := r.Cookie(token.cookieName())
		if err != nil {
			continue
		}
		setSessionCookie(w, r, cookie.Name, "", -1)
		if end, ok := token.endOf(cookie.Value); ok {
			s.refuse(cookie.Value, end, time.Now())
		}
	}
}

// refuse notes that a session has ended before its time.
func (s *sessions) refuse(value string, end, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loggedOut == nil {
		s.loggedOut = map[string]time.Time{}
	}
	makeRoom(s.loggedOut, maxLoggedOut, now)
	s.loggedOut[value] = end
}

// caller returns whose session the request belongs to.
func (s *sessions) caller(r *http.Request, known *tokens) (Caller, bool) {
	for _, token := range known.all() {
		cookie, err := r.Cookie(token.cookieName())
		if err != nil {
			continue
		}
		end, ok := token.endOf(cookie.Value)
		if left := time.Until(end); !ok || left <= 0 || left > sessionLifetime+sessionSkew {
			continue
		}
		s.mu.Lock()
		_, refused := s.loggedOut[cookie.Value]
		s.mu.Unlock()
		if !refused {
			return Caller{token.Name, token.Role}, true
		}
	}
	return Caller{}, false
}

// setSessionCookie sets a cookie for the directory of the login page. The console is mounted there
// as the browser sees it, whatever prefix a mux or proxy has removed. It replaces the same cookie,
// which the answer may have removed before.
func setSessionCookie(w http.ResponseWriter, r *http.Request, name, value string, maxAge int) {
	cookie := http.Cookie{
		Name: name, Value: value, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
	set := w.Header()["Set-Cookie"]
	w.Header()["Set-Cookie"] = append(slices.DeleteFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") }), cookie.String())
}
