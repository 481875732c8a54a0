package httpfence

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/solotick/solotick/internal/fencing"
)

const (
	// TokenHeader has the fencing token of a request.
	TokenHeader = "Solotick-Fencing-Token"
	// NewestHeader has, in a 412 of [Middleware] or [Refuse], the token that the resource has seen.
	NewestHeader = "Solotick-Newest-Token"
)

func format(token int64) string { return strconv.FormatInt(token, 10) }

// parse reads a token: digits only, from 1 to 2^53 - 1.
func parse(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 53)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("token %.40q: must be an integer from 1 to %d", s, int64(fencing.MaxToken))
	}
	return int64(n), nil
}

// tokenOf reads a request's token; there is none where both results are zero.
func tokenOf(r *http.Request) (int64, error) {
	switch values := r.Header.Values(TokenHeader); len(values) {
	case 0:
		return 0, nil
	case 1:
		return parse(values[0])
	default:
		return 0, fmt.Errorf("%s: is there %d times; must be there once", TokenHeader, len(values))
	}
}

// problem is an answer as RFC 9457 has it.
type problem struct {
	Status   int    `json:"status"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	Resource string `json:"resource,omitempty"`
	Token    int64  `json:"token,omitempty"`
	Newest   int64  `json:"newest,omitempty"`
}

func answer(w http.ResponseWriter, p problem) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("Content-Length") // of what the handler meant to say
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) //nolint:errchkjson // it fails where the client is gone
}
