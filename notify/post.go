package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// maxAskedWait bounds the wait that a receiver may ask for.
const maxAskedWait = time.Hour

// refusal is the error of a receiver that has answered, and not with 2xx.
type refusal struct {
	text  string
	wait  time.Duration // that it asks for
	alone bool          // it may take other notifications: it did not like this one
}

func (r *refusal) Error() string { return r.text }

// newClient returns a client that follows no redirect: what is signed is for the URL that the
// operator has written.
func newClient() *http.Client {
	transport := new(http.Transport)
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = usual.Clone()
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post sends n to r, and returns nil when r has taken it. Its error names no more of the URL than
// the host.
func post(ctx context.Context, client *http.Client, r Receiver, n Notification, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	q, err := r.request(n, now)
	if err != nil {
		return &refusal{text: err.Error(), alone: true}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, q.address.String(), bytes.NewReader(q.body))
	if err != nil {
		return &refusal{text: q.address.Host + ": not an address"}
	}
	request.Header = q.header
	if host := q.header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return fmt.Errorf("%s: %w", q.address.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if rule := refused(r.kind(), response, answer); rule != nil {
		rule.text = q.address.Host + ": " + rule.text
		return rule
	}
	if err != nil && saysInBody(r.kind()) {
		return fmt.Errorf("%s: %w", q.address.Host, err)
	}
	return nil
}

// saysInBody reports whether receivers of a kind say in the body of an answer with 200 whether they
// have taken it.
func saysInBody(kind Kind) bool { return kind == DingTalk || kind == Feishu || kind == WeCom }

// refused says why the answer is no acceptance; nil when it is one.
func refused(kind Kind, response *http.Response, answer []byte) *refusal {
	code := response.StatusCode
	if code < 200 || code > 299 {
		r := &refusal{text: "status " + strconv.Itoa(code), wait: askedWait(response.Header)}
		switch code {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone: // it is about the URL or the secret
		default:
			r.alone = code >= 400 && code < 500
		}
		if code >= 300 && code < 400 {
			r.text += " (redirects are not followed; use the URL that it leads to)"
		}
		return r
	}
	if !saysInBody(kind) {
		return nil
	}
	var said struct {
		Code    *int   `json:"code"`
		Msg     string `json:"msg"`
		ErrCode *int   `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
		Status  *int   `json:"StatusCode"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return &refusal{text: "answers with something that is no JSON"}
	}
	for _, c := range []*int{said.Code, said.ErrCode, said.Status} {
		if c != nil && *c == 0 {
			return nil
		}
		if c != nil {
			return &refusal{text: fmt.Sprintf("code %d: %s", *c, cut(oneLine(said.Msg+said.ErrMsg), 200))}
		}
	}
	return &refusal{text: "answers without a code"}
}

// askedWait returns the wait of Retry-After; 0 for none.
func askedWait(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return min(max(0, time.Duration(min(seconds, 1<<20))*time.Second), maxAskedWait)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(at)), maxAskedWait)
	}
	return 0
}
