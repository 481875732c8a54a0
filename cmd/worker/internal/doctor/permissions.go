package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redisadvice"
	"github.com/solotick/solotick/lease/redislease"
)

// permissions calls everything that replicas and commands call, on a record of its own that it
// removes again.
func (srv *server) permissions(ctx context.Context) []Finding {
	name := "doctor-" + strings.ToLower(rand.Text()[:16])
	defer srv.cleanUp(ctx, name)
	began := time.Now()
	done, faults := srv.tryAll(ctx, name)
	f := Finding{Check: "permissions", Result: OK,
		Finding: fmt.Sprintf("all %d kinds of calls work, in %s", done, time.Since(began).Round(time.Millisecond))}
	if len(faults) > 0 {
		f.Result = Fail
		f.Finding = errors.Join(faults...).Error()
		f.Change = srv.store.Advice(faults[0])
	}
	return []Finding{f, srv.notifications(ctx, name)}
}

// tryAll calls each method of the store, and returns the number of calls and their errors. It ends
// at an error of a method that the others depend on.
func (srv *server) tryAll(ctx context.Context, name string) (done int, faults []error) {
	try := func(err error) bool {
		done++
		if err != nil {
			faults = append(faults, err)
		}
		return err == nil
	}
	s := srv.store.Store
	now, _, err := s.Time(ctx)
	if !try(err) {
		return done, faults
	}
	watermark := now.UnixMilli() - 1000
	if _, err = s.Sync(ctx, []protocol.Sync{{Name: name, Watermark: watermark}}); !try(err) {
		return done, faults
	}
	grant := func(tick int64) (protocol.Grant, error) {
		c := protocol.Claim{Name: name, Tick: tick, Holder: name, Request: fmt.Sprint("r", tick), TTL: min(time.Minute, srv.ttl), Takeovers: 1}
		a, err := s.Claim(ctx, c)
		if err == nil && a.Status != protocol.Granted {
			err = fmt.Errorf("claim %q: %s, must be granted", name, a.Status)
		}
		return protocol.Grant{
			Name: name, Tick: tick, Holder: name, Request: c.Request, Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL,
		}, err
	}
	g, err := grant(watermark + 1)
	if !try(err) {
		return done, faults
	}
	try(s.Renew(ctx, []protocol.Grant{g})[0])
	try(s.Release(ctx, g))
	if g, err = grant(watermark + 1); try(err) {
		try(s.Settle(ctx, g, "succeeded"))
	}
	_, _, err = s.Skip(ctx, protocol.Skip{Name: name, From: watermark + 1, To: watermark + 2, Outcome: "missed", Request: "pass", Holder: name})
	try(err)
	try(fault(s.Inspect(ctx, name)))
	try(fault(s.Pause(ctx, name, protocol.Pause{By: name})))
	try(fault(s.Resume(ctx, name, protocol.Resume{By: name})))
	t, err := s.Trigger(ctx, protocol.Trigger{Name: name, By: name, Request: "trigger", Key: "key", Window: time.Second})
	if try(err) {
		try(fault(s.Cancel(ctx, protocol.Cancel{Name: name, Tick: t.Tick, By: name})))
	}
	try(fault(s.Repair(ctx, protocol.Repair{Name: name})))
	try(s.SendHeartbeat(ctx, name, []byte("{}"), 0)) // with a TTL of 0 it is no member
	try(fault(s.Members(ctx)))
	try(s.Append(ctx, name, "note", []byte("{}")))
	try(fault(s.Notes(ctx, name, 1)))
	record, err := s.Inspect(ctx, name)
	if err == nil {
		_, err = s.Remove(ctx, protocol.Remove{Name: name, Watermark: record.Watermark, Token: record.Token})
	}
	try(err)
	return done, faults
}

// fault returns the error of a call whose answer does not matter.
func fault[T any](_ T, err error) error { return err }

// cleanUp removes the record and its journal, on a best-effort basis.
func (srv *server) cleanUp(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	for _, node := range srv.store.Nodes {
		_ = node.Unlink(ctx, "solotick:{"+srv.namespace+":"+name+"}:register").Err() // as package redislease says
	}
	if srv.client != nil {
		_ = srv.client.Unlink(ctx, redislease.Key(srv.namespace, name)).Err()
		_ = srv.client.Unlink(ctx, redislease.Key(srv.namespace, "journal:"+name)).Err()
	}
}

// notifications checks that replicas can publish and subscribe.
func (srv *server) notifications(ctx context.Context, name string) Finding {
	f := Finding{Check: "messages"}.as(redisadvice.Messages(srv.publishAll(ctx, name)))
	f.Change = strings.Replace(f.Change, "the user of Redis", "the user of redis", 1)
	return f
}

// publishAll publishes on every node of a quorum, or on the only server.
func (srv *server) publishAll(ctx context.Context, name string) error {
	if srv.client != nil {
		return publish(ctx, srv.client, "solotick:"+srv.namespace+":wake", name) // as package redislease says
	}
	errs := make([]error, len(srv.store.Nodes))
	var publishers sync.WaitGroup
	for i, node := range srv.store.Nodes {
		publishers.Go(func() {
			// A node that does not answer is another finding.
			err, refused := publish(ctx, node, "solotick:"+srv.namespace+":node:wake", name), redis.Error(nil)
			if errors.As(err, &refused) {
				errs[i] = fmt.Errorf("%s: %w", node.Options().Addr, err)
			}
		})
	}
	publishers.Wait()
	return errors.Join(errs...)
}

// publish subscribes to a channel, publishes name, and waits until it arrives.
func publish(ctx context.Context, client redis.UniversalClient, channel, name string) error {
	sub := client.Subscribe(ctx, channel)
	defer func() { _ = sub.Close() }()
	const timeout = 2 * time.Second
	if _, err := sub.ReceiveTimeout(ctx, timeout); err != nil {
		return err
	}
	if err := client.Publish(ctx, channel, name).Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		m, err := sub.ReceiveMessage(ctx)
		if err != nil {
			return err
		}
		if m.Payload == name { // else a message of the fleet
			return nil
		}
	}
}
