// Package remote asks a worker's API what commands ask a store, and answers in the same types.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
)

const (
	requestTimeout = 30 * time.Second
	maxAnswer      = 256 << 20 // bytes: a fleet of very many jobs
)

// Client asks one worker. It is safe for concurrent use.
type Client struct {
	base  string // without a slash at its end
	token string
	http  *http.Client
}

// New makes a client of the worker at a URL, such as http://worker-1:8080, or of a console that is
// mounted at a path of one. The token may be empty: then only a worker on this machine answers.
func New(server, token string) (*Client, error) {
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("--server: %q must be a URL such as http://localhost:8080", server)
	case u.User != nil:
		return nil, errors.New("--server: must not have a user or password; give the token with SOLOTICK_TOKEN or --token-file")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("--server: %q must have no query", server)
	}
	return &Client{
		base: strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), token: token,
		http: &http.Client{
			Timeout:       requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a token goes nowhere else
		},
	}, nil
}

// Server returns the URL of the worker.
func (c *Client) Server() string { return c.base }

// Close closes connections that nobody uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Problem is an error that the worker has answered with.
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Server string `json:"-"`
}

func (p *Problem) Error() string {
	switch {
	case p.Status == http.StatusUnauthorized:
		return fmt.Sprintf("%s: %s: set SOLOTICK_TOKEN or --token-file", p.Server, p.Detail)
	case p.Detail != "":
		return fmt.Sprintf("%s: %s", p.Server, p.Detail)
	}
	return fmt.Sprintf("%s: %d %s", p.Server, p.Status, p.Title)
}

// get asks for a path of the API, and decodes the answer.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (answer T, err error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	err = c.ask(ctx, http.MethodGet, path, nil, &answer)
	return answer, err
}

func post[T any](ctx context.Context, c *Client, path string, body any) (answer T, err error) {
	text, err := json.Marshal(body)
	if err == nil {
		err = c.ask(ctx, http.MethodPost, path, text, &answer)
	}
	return answer, err
}

// ask sends a request, with more headers as names and values, and decodes the answer.
func (c *Client) ask(ctx context.Context, method, path string, body []byte, to any, headers ...string) error {
	r, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err // it names the URL
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s: %w", c.base, err)
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		return c.problem(answer, text)
	}
	if err := fleet.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: the answer is not that of a worker's API: %w", c.base, err)
	}
	return nil
}

func (c *Client) problem(answer *http.Response, text []byte) error {
	p := &Problem{Server: c.base}
	if answer.Header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(text, p) != nil {
		p.Title = http.StatusText(answer.StatusCode)
		p.Detail = "this is not a worker's API: " + answer.Status
	}
	p.Status = answer.StatusCode
	return p
}
