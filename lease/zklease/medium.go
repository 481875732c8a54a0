package zklease

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/internal/storekit"
)

// medium is a [casstore.Medium] below a node of ZooKeeper. Revisions are those of nodes, their
// mzxid, and rise from session to session.
type medium struct {
	link *link
	root string
	acl  []zk.ACL

	clock clock

	mu      sync.Mutex
	present *tree // nil before the first call
	read    map[string]reading
	newest  int64 // the greatest mzxid that was seen
}

// reading has the versions that a write from a revision compares.
type reading struct {
	tree     *tree
	revision uint64
	version  int32 // of the node
	bucket   int32 // version of the bucket before the node was read
}

const (
	// mostReadings bounds how many are remembered. A write from a revision that is not costs one
	// read more.
	mostReadings = 1 << 15
	// mostData is how many bytes a value may have: requests have at most 1 MiB by default.
	mostData = 1<<20 - 4<<10
	// mostTries bounds how often a write finds that its bucket has changed.
	mostTries = 16
)

// mzxidBits is how many bits of a revision are the mzxid: 20 for the leader's epoch, and 32 for the
// changes in it. The others are for the session, and begin again after 4,096 of them.
const mzxidBits = 52

// revision makes revisions of later sessions greater than those of earlier ones: what was read
// before a backup was restored is not compared with what comes after.
func revision(era uint64, mzxid int64) uint64 { return era<<mzxidBits | mzxidOf(uint64(mzxid)) }

func mzxidOf(revision uint64) uint64 { return revision & (1<<mzxidBits - 1) }

func (m *medium) note(key string, r reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.read[key]; !known && len(m.read) >= mostReadings {
		for other := range m.read {
			delete(m.read, other)
			break
		}
	}
	m.read[key] = r
	m.newest = max(m.newest, int64(mzxidOf(r.revision)))
}

func (m *medium) noted(t *tree, key string, from uint64) (reading, bool) {
	era := m.link.present()
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.read[key]
	if ok = ok && r.tree == t && r.revision == from && r.revision == revision(era, int64(r.revision)); !ok {
		return reading{}, false
	}
	return r, true
}

func (m *medium) drop(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.read, key)
}

// within calls f with the generation, and once more with the next one when somebody has removed it
// meanwhile.
func (m *medium) within(ctx context.Context, f func(t *tree) error) error {
	for range 4 {
		t, err := m.open(ctx)
		if err != nil {
			return err
		}
		if err = f(t); !errors.Is(err, errGone) {
			return err
		}
		m.gone(t)
	}
	return m.at(m.root, errGone)
}

// Get implements [casstore.Medium]. A follower may lag behind: it is brought up to date first.
func (m *medium) Get(ctx context.Context, keys []string) ([]casstore.Kept, error) {
	list := make([]casstore.Kept, len(keys))
	if len(keys) == 0 {
		return list, nil
	}
	return list, m.within(ctx, func(t *tree) error {
		if err := m.sync(ctx); err != nil {
			return err
		}
		return storekit.Each(len(keys), func(i int) (err error) {
			list[i], _, err = m.get(ctx, t, keys[i], (*zk.Conn).Get)
			return err
		})
	})
}

// Exists implements [casstore.Medium].
func (m *medium) Exists(ctx context.Context, key string) (bool, error) {
	if err := m.sync(ctx); err != nil {
		return false, err
	}
	root, _, err := m.node(ctx, m.root)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil:
		return false, m.at(m.root, err)
	}
	var h head
	if len(root.data) == 0 { // it is above another namespace's
		return false, nil
	}
	_ = json.Unmarshal(root.data, &h)
	if h.Generation == "" {
		return true, nil // other calls say what it is
	}
	t := &tree{path: m.root + "/" + h.Generation}
	if _, _, err = m.node(ctx, t.valuePath(key)); errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, m.at(m.root, err)
}

// get reads a value from the server that the session is with.
func (m *medium) get(ctx context.Context, t *tree, key string, read func(*zk.Conn, string) ([]byte, *zk.Stat, error)) (casstore.Kept, reading, error) {
	before, err := m.version(ctx, t, key)
	if err != nil {
		return casstore.Kept{}, reading{}, err
	}
	path := t.valuePath(key)
	n, era, err := ask(ctx, m.link, func(c *zk.Conn) (n node, err error) {
		n.data, n.stat, err = read(c, path)
		if errors.Is(err, zk.ErrNoNode) {
			// Is there no such value, or no such generation any more?
			exists, _, bucketErr := c.Exists(t.bucketPath(key))
			if bucketErr != nil {
				return n, bucketErr
			}
			if !exists {
				return n, errGone
			}
		}
		return n, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		m.drop(key)
		return casstore.Kept{}, reading{tree: t, bucket: before}, nil
	case errors.Is(err, errGone):
		return casstore.Kept{}, reading{}, err
	case err != nil:
		return casstore.Kept{}, reading{}, m.at(path, err)
	}
	r := reading{t, revision(era, n.stat.Mzxid), n.stat.Version, before}
	m.note(key, r)
	return casstore.Kept{Data: n.data, Revision: r.revision}, r, nil
}

// Put implements [casstore.Medium].
func (m *medium) Put(ctx context.Context, key string, data []byte, from uint64) (present casstore.Kept, ok bool, err error) {
	if len(data) > mostData {
		return present, false, m.at(key, errLarge)
	}
	err = m.within(ctx, func(t *tree) error {
		for tried := range mostTries {
			r, known := m.noted(t, key, from)
			if from == 0 && data != nil && tried == 0 {
				r.tree, known = t, true
				if r.bucket, err = m.version(ctx, t, key); err != nil {
					return err
				}
			}
			if !known {
				if tried == 0 { // later the server has the change that was in the way
					if err = m.sync(ctx); err != nil {
						return err
					}
				}
				if present, r, err = m.get(ctx, t, key, (*zk.Conn).Get); err != nil {
					return err
				}
				if ok = present.Revision == from; !ok || from == 0 && data == nil {
					return nil
				}
			}
			if present, ok, err = m.write(ctx, key, data, r); ok || err != nil {
				return err
			}
		}
		return m.at(t.valuePath(key), errBusy)
	})
	return present, ok && err == nil, err
}

// write writes a value if it is as it was read. It is not done if it may be another one.
func (m *medium) write(ctx context.Context, key string, data []byte, r reading) (present casstore.Kept, done bool, err error) {
	t := r.tree
	path, bucket := t.valuePath(key), t.bucketPath(key)
	var ops []any
	switch {
	case r.revision == 0:
		// The answer has the mzxid when data are set, not when a node is made.
		ops = []any{&zk.CreateRequest{Path: path, Acl: m.acl}, &zk.SetDataRequest{Path: path, Data: data}}
	case data == nil:
		ops = []any{&zk.SetDataRequest{Path: bucket, Version: r.bucket}, &zk.DeleteRequest{Path: path, Version: r.version}}
	default:
		ops = []any{&zk.CheckVersionRequest{Path: bucket, Version: r.bucket}, &zk.SetDataRequest{Path: path, Data: data, Version: r.version}}
	}
	sent := steady.Now()
	answers, era, err := m.multi(ctx, ops...)
	switch {
	case err == nil:
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode):
		m.drop(key)
		t.forget(key)
		return present, false, nil // whether the generation is gone is seen by the next read
	default:
		m.drop(key)
		return present, false, m.at(path, err)
	}
	for _, a := range answers {
		if a.Stat == nil {
			continue
		}
		m.clock.learn(sent, a.Stat.Mtime)
		if data != nil {
			next := reading{t, revision(era, a.Stat.Mzxid), a.Stat.Version, r.bucket}
			m.note(key, next)
			present = casstore.Kept{Data: data, Revision: next.revision}
		}
	}
	if data == nil {
		m.drop(key)
		t.forget(key)
	}
	return present, true, nil
}

// Keys implements [casstore.Medium]. The cursor is a bucket and the name in it that was listed last.
func (m *medium) Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	err = m.within(ctx, func(t *tree) error {
		keys, next = nil, ""
		if err := m.sync(ctx); err != nil {
			return err
		}
		after, last, _ := strings.Cut(cursor, "/")
		for _, b := range nodes() {
			if b < after || !mayHave(b, prefix) {
				continue
			}
			names, _, err := ask(ctx, m.link, func(c *zk.Conn) ([]string, error) {
				names, _, err := c.Children(t.path + "/" + b)
				return names, err
			})
			if errors.Is(err, zk.ErrNoNode) {
				return errGone
			}
			if err != nil {
				return m.at(t.path+"/"+b, err)
			}
			slices.Sort(names)
			for _, name := range names {
				if b == after && name <= last {
					continue
				}
				if len(keys) >= count {
					return nil
				}
				next = b + "/" + name
				if key, ok := keyOf(b, name); ok && strings.HasPrefix(key, prefix) {
					keys = append(keys, key)
				}
			}
		}
		next = ""
		return nil
	})
	return keys, next, err
}

// mayHave reports whether keys of a bucket may begin with a prefix.
func mayHave(bucket, prefix string) bool {
	kind, _, ok := strings.Cut(bucket, "-")
	return ok && (kind == "" || strings.HasPrefix(kind+"/", prefix) || strings.HasPrefix(prefix, kind+"/"))
}
