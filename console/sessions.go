package console

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

const (
	sessionCookie   = "solotick_session"
	sessionLifetime = 12 * time.Hour
	maxSessions     = 1000 // one more ends the oldest
)

// sessions are the logins of browsers. They are in memory only: a restart ends them. A session
// lasts until it is [sessionLifetime] old, somebody logs out, or its token's secret changes. It is
// safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	byID map[[sha256.Size]byte]session // by the hash of the id, so that a lookup says nothing about ids
}

type session struct {
	sum   [sha256.Size]byte // of the secret that was used to log in
	began time.Time
}

// begin starts a session for the bearer of a secret, and sets its cookie. The session that the
// request came with ends: an id that somebody else may know is never given a login.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, secret string) {
	s.end(w, r)
	id := rand.Text()
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[[sha256.Size]byte]session{}
	}
	s.makeRoomLocked(now)
	s.byID[sha256.Sum256([]byte(id))] = session{sum: sha256.Sum256([]byte(secret)), began: now}
	setSessionCookie(w, r, id, int(sessionLifetime.Seconds()))
}

func (s *sessions) makeRoomLocked(now time.Time) {
	var oldest [sha256.Size]byte
	first := now
	for id, session := range s.byID {
		if now.Sub(session.began) >= sessionLifetime {
			delete(s.byID, id)
		} else if !session.began.After(first) {
			oldest, first = id, session.began
		}
	}
	if len(s.byID) >= maxSessions {
		delete(s.byID, oldest)
	}
}

// end ends the session of the request, and removes its cookie.
func (s *sessions) end(w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, sha256.Sum256([]byte(cookie.Value)))
	setSessionCookie(w, r, "", -1)
}

// caller returns whose session the request belongs to.
func (s *sessions) caller(r *http.Request, known *tokens) (Caller, bool) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return Caller{}, false
	}
	s.mu.Lock()
	found, ok := s.byID[sha256.Sum256([]byte(cookie.Value))]
	s.mu.Unlock()
	if !ok || time.Since(found.began) >= sessionLifetime {
		return Caller{}, false
	}
	i := known.index(found.sum)
	if i < 0 {
		return Caller{}, false
	}
	return Caller{known.list[i].Name, known.list[i].Role}, true
}

// setSessionCookie sets the cookie for the directory of the login page. The console is mounted
// there as the browser sees it, whatever prefix a mux or proxy has removed.
func setSessionCookie(w http.ResponseWriter, r *http.Request, id string, maxAge int) {
	cookie := http.Cookie{
		Name: sessionCookie, Value: id, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
	w.Header().Set("Set-Cookie", cookie.String())
}
