package httpfence

import (
	"encoding/json"
	"net/http"
)

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
