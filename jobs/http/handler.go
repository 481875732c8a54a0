package http

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/jobs"
)

// The headers that describe a run.
const (
	headerTickID    = "Idempotency-Key"
	headerNamespace = "Solotick-Namespace"
	headerJob       = "Solotick-Job"
	headerTick      = "Solotick-Tick"
	headerToken     = "Solotick-Fencing-Token"
	headerAttempt   = "Solotick-Attempt"
	headerReplica   = "Solotick-Replica"
	headerKey       = "Solotick-Key"     // only of a run that has one
	headerTrace     = "Traceparent"      // only of a run that is traced
	headerPayload   = "Solotick-Payload" // in base64, where the payload is not the body

	headerPosition   = "Solotick-Position"   // in base64url; only of a run that has one
	headerCheckpoint = "Solotick-Checkpoint" // of a response: where the next request goes on, in base64url
	headerProgress   = "Solotick-Progress"   // of a response: a percentage, and a text after a space

	tickLayout = "2006-01-02T15:04:05.000Z07:00"
	userAgent  = "solotick (+https://github.com/solotick/solotick)"
)

const (
	maxBody      = 64 << 10 // of a response that is read, in bytes
	maxErrorText = 1 << 10  // of it that an error shows
	maxRedirects = 10
	maxPosition  = 1 << 10 // bytes of a position, which is a header
)

// New returns a handler that makes the request which call describes. The error joins a
// [*jobs.Fault] for everything that is wrong with call.
//
// A nil client means one that limits the time to connect and the size of headers, and opens a
// connection for each request. It obeys HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Another client is
// used as it is, except that this package's rule for redirects holds where it has none of its own.
func New(call Call, client *nethttp.Client) (jobs.Handler, error) {
	call, err := call.normalize()
	if err != nil {
		return nil, err
	}
	if client == nil {
		client = newClient()
	}
	own := *client
	if own.CheckRedirect == nil {
		own.CheckRedirect = call.checkRedirect
	}
	return func(ctx context.Context, run jobs.Run) error {
		err := errNoTimeout
		if _, limited := ctx.Deadline(); limited || !call.Steps {
			err = call.do(ctx, run, &own)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", call.Method, call.host(), err)
		}
		return nil
	}, nil
}

func (c Call) do(ctx context.Context, run jobs.Run, client *nethttp.Client) error {
	for {
		err := c.step(ctx, &run, client)
		next, ok := errors.AsType[*nextStep](err)
		if !ok {
			return err
		}
		if !sleep.For(ctx, next.wait) {
			return context.Cause(ctx)
		}
	}
}

// step makes one request, and moves the position of run to where the response says. It returns a
// [*nextStep] if the job goes on with another request.
func (c Call) step(ctx context.Context, run *jobs.Run, client *nethttp.Client) error {
	if ctx.Err() != nil {
		return fmt.Errorf("not requested: %w", context.Cause(ctx))
	}
	whole := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, &jobs.TimeoutError{Setting: "http.timeout", Limit: c.Timeout})
	defer cancel()

	request, err := c.request(ctx, *run)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return failure(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // what matters of it has been read

	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	another := c.Steps && response.StatusCode == nethttp.StatusAccepted && response.Header.Get("Retry-After") != ""
	if fault := takeCheckpoint(whole, run, response.Header, another); fault != nil && another {
		return jobs.Permanent(fault)
	}
	if another {
		return &nextStep{wait: askedWait(response.Header)}
	}
	if !c.succeeded(response.StatusCode) {
		return newStatusError(response, body) // says more than err, should there be one
	}
	if err != nil {
		return fmt.Errorf("status %d, but its body broke off: %w", response.StatusCode, failure(ctx, err))
	}
	return nil
}

func (c Call) request(ctx context.Context, run jobs.Run) (*nethttp.Request, error) {
	body, asBody := c.Body, run.Payload != "" && c.takesBody()
	if asBody {
		body = string(run.Payload)
	}
	request, err := nethttp.NewRequestWithContext(ctx, c.Method, c.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	header := request.Header
	header.Set("User-Agent", userAgent)
	if asBody {
		header.Set("Content-Type", contentType(body))
	}
	for name, value := range c.Headers {
		if name == "Host" {
			request.Host = value
			continue
		}
		header.Set(name, value)
	}
	header.Set(headerTickID, run.TickID())
	header.Set(headerNamespace, run.Namespace)
	header.Set(headerJob, run.Job)
	header.Set(headerTick, run.Tick.UTC().Format(tickLayout))
	header.Set(headerToken, strconv.FormatInt(run.Token, 10))
	header.Set(headerAttempt, strconv.Itoa(run.Attempt))
	header.Set(headerReplica, run.Replica)
	if run.Key != "" {
		header.Set(headerKey, run.Key)
	}
	if run.Payload != "" && !asBody {
		header.Set(headerPayload, base64.StdEncoding.EncodeToString([]byte(run.Payload)))
	}
	if n := len(run.Position); n > 0 && n <= maxPosition {
		header.Set(headerPosition, base64.RawURLEncoding.EncodeToString(run.Position))
	}
	if run.Traceparent != "" {
		header.Set(headerTrace, run.Traceparent)
	}
	return request, nil
}

// takesBody reports whether a payload is the body of the request: the method has one, and the job
// names none.
func (c Call) takesBody() bool {
	switch c.Method {
	case nethttp.MethodPost, nethttp.MethodPut, nethttp.MethodPatch:
		return c.Body == ""
	}
	return false
}

// contentType is that of a payload, unless the job names one.
func contentType(payload string) string {
	if json.Valid([]byte(payload)) {
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

// failure says why there is no response. It drops the URL that net/http puts around its errors.
func failure(ctx context.Context, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx) // and err only says that the context has ended
}

// host names the call in errors.
func (c Call) host() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return hidden
	}
	return u.Scheme + "://" + u.Host
}

func (c Call) checkRedirect(request *nethttp.Request, via []*nethttp.Request) error {
	first := via[0].URL
	switch {
	case c.Method != nethttp.MethodGet && c.Method != nethttp.MethodHead,
		request.URL.Scheme != first.Scheme || request.URL.Host != first.Host,
		c.succeeded(request.Response.StatusCode):
		return nethttp.ErrUseLastResponse
	case len(via) > maxRedirects:
		return jobs.Permanent(fmt.Errorf("more than %d redirects", maxRedirects))
	}
	if request.URL.User == nil { // the same host wants the same credentials
		request.URL.User = first.User
	}
	return nil
}

func newClient() *nethttp.Client {
	const connecting = 10 * time.Second
	return &nethttp.Client{Transport: &nethttp.Transport{
		Proxy:                  nethttp.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connecting}).DialContext,
		TLSHandshakeTimeout:    connecting,
		MaxResponseHeaderBytes: 64 << 10,
		DisableKeepAlives:      true, // see "Sent once" in the package comment
		ForceAttemptHTTP2:      true,
	}}
}
