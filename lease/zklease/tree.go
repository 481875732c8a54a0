package zklease

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// Nodes of a namespace:
//
//	PREFIX/NAMESPACE                     says which generation there is
//	PREFIX/NAMESPACE/G                   a generation, which is never made again
//	PREFIX/NAMESPACE/G/clock             is written to learn the leader's time
//	PREFIX/NAMESPACE/G/KIND-N            a bucket: its version rises with each removal
//	PREFIX/NAMESPACE/G/KIND-N/NAME       the value of the key KIND/NAME
//
// ZooKeeper compares the version of a node, which counts from 0 when the node is made again. So a
// process that has read version 3, and writes later, could change another value than the one that
// it has read. Each write of a value therefore checks its bucket's version, too, as it was before
// the value was read: it fails if anything was removed between the two. Buckets are made with their
// generation, and never again. Where one is missing, somebody has removed nodes: another generation
// begins, with other paths.

// format is that of the nodes which this release writes.
const format = 1

// kinds are what keys begin with, and how many buckets there are of each. Who watches has the names
// of a whole bucket listed when one comes to be. Other keys are kept together, under "".
var kinds = map[string]uint32{"item": 16, "older": 16, "message": 1, "": 1}

type head struct {
	Solotick   int    `json:"solotick"` // the format
	Generation string `json:"generation"`
}

// tree is a generation.
type tree struct {
	path string

	mu       sync.Mutex
	versions map[string]int32 // of buckets, as they were at some time
}

// place returns where a key is kept: the name of a bucket, and of the node in it.
func place(key string) (bucket, child string) {
	kind, name, ok := strings.Cut(key, "/")
	if !ok || kinds[kind] == 0 {
		kind, name = "", key
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return kind + "-" + strconv.FormatUint(uint64(h.Sum32()%kinds[kind]), 10), url.PathEscape(name)
}

// keyOf returns the key of a bucket's child.
func keyOf(bucket, child string) (key string, ok bool) {
	kind, _, ok := strings.Cut(bucket, "-")
	name, err := url.PathUnescape(child)
	if kind != "" {
		name = kind + "/" + name
	}
	return name, ok && err == nil
}

func bucketOf(key string) string {
	bucket, _ := place(key)
	return bucket
}

func (t *tree) bucketPath(key string) string { return t.path + "/" + bucketOf(key) }

func (t *tree) valuePath(key string) string {
	bucket, child := place(key)
	return t.path + "/" + bucket + "/" + child
}

// locate returns the bucket, and the child in it, that a path is of.
func (t *tree) locate(path string) (bucket, child string) {
	rest, ok := strings.CutPrefix(path, t.path+"/")
	if !ok {
		return "", ""
	}
	bucket, child, _ = strings.Cut(rest, "/")
	return bucket, child
}

// known returns a version that the bucket of a key has had.
func (t *tree) known(key string) (version int32, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	version, ok = t.versions[bucketOf(key)]
	return version, ok
}

func (t *tree) learn(key string, version int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.versions[bucketOf(key)] = version
}

func (t *tree) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.versions, bucketOf(key))
}

// nodes are the children of a generation, in order.
func nodes() []string {
	names := []string{"clock"}
	for kind, n := range kinds {
		for i := range n {
			names = append(names, kind+"-"+strconv.FormatUint(uint64(i), 10))
		}
	}
	slices.Sort(names)
	return names
}

// open returns the generation of the namespace, and makes it where there is none.
func (m *medium) open(ctx context.Context) (*tree, error) {
	m.mu.Lock()
	t := m.present
	m.mu.Unlock()
	if t != nil {
		return t, nil
	}
	for range 8 { // others may make one at the same time
		found, err := m.find(ctx)
		if err != nil {
			return nil, err
		}
		if found == "" {
			continue
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.present == nil || m.present.path != m.root+"/"+found {
			m.present = &tree{path: m.root + "/" + found, versions: make(map[string]int32)}
		}
		return m.present, nil
	}
	return nil, errBusy
}

// gone forgets a generation that somebody has removed.
func (m *medium) gone(t *tree) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.present == t {
		m.present = nil
	}
}

type node struct {
	data []byte
	stat *zk.Stat
}

func (m *medium) node(ctx context.Context, path string) (n node, era uint64, err error) {
	return ask(ctx, m.link, func(c *zk.Conn) (node, error) {
		data, stat, err := c.Get(path)
		return node{data, stat}, err
	})
}

func (m *medium) sync(ctx context.Context) error {
	_, _, err := ask(ctx, m.link, func(c *zk.Conn) (string, error) { return c.Sync("/") })
	return err
}

func (m *medium) multi(ctx context.Context, ops ...any) ([]zk.MultiResponse, uint64, error) {
	return ask(ctx, m.link, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
}

// find returns the generation there is, "" when somebody else has just made one.
func (m *medium) find(ctx context.Context) (string, error) {
	if err := m.sync(ctx); err != nil {
		return "", err
	}
	root, _, err := m.node(ctx, m.root)
	there := err == nil
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return "", m.at(m.root, err)
	}
	var h head
	if there && len(root.data) > 0 {
		if err := json.Unmarshal(root.data, &h); err != nil || h.Solotick == 0 || h.Generation == "" {
			return "", m.at(m.root, errForeign)
		}
		if h.Solotick != format {
			return "", m.at(m.root, fmt.Errorf("%w %d, and this release knows %d", errFormat, h.Solotick, format))
		}
		path := m.root + "/" + h.Generation
		there, _, err := ask(ctx, m.link, func(c *zk.Conn) ([]string, error) {
			there, _, err := c.Children(path)
			return there, err
		})
		if err == nil && len(there) >= len(nodes()) {
			return h.Generation, nil
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return "", m.at(path, err)
		}
	}
	return "", m.make(ctx, there, root.stat)
}

// make makes a generation.
func (m *medium) make(ctx context.Context, there bool, stat *zk.Stat) error {
	h := head{format, strings.ToLower(rand.Text())}
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	var first any = &zk.CreateRequest{Path: m.root, Data: data, Acl: m.acl}
	if there {
		first = &zk.SetDataRequest{Path: m.root, Data: data, Version: stat.Version}
	} else if err := m.parents(ctx); err != nil {
		return err
	}
	path := m.root + "/" + h.Generation
	ops := []any{first, &zk.CreateRequest{Path: path, Acl: m.acl}}
	for _, name := range nodes() {
		ops = append(ops, &zk.CreateRequest{Path: path + "/" + name, Acl: m.acl})
	}
	_, _, err = m.multi(ctx, ops...)
	if errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return nil // somebody else was quicker
	}
	return m.at(m.root, err)
}

// parents makes the nodes above the namespace's, where they are missing.
func (m *medium) parents(ctx context.Context) error {
	for i, c := range m.root {
		if c != '/' || i == 0 {
			continue
		}
		path := m.root[:i]
		_, _, err := ask(ctx, m.link, func(c *zk.Conn) (string, error) {
			if exists, _, err := c.Exists(path); exists || err != nil {
				return "", err
			}
			return c.Create(path, nil, 0, m.acl)
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return m.at(path, err)
		}
	}
	return nil
}

// version returns a version that the bucket of a key has had by now: read before the value is.
func (m *medium) version(ctx context.Context, t *tree, key string) (int32, error) {
	if v, ok := t.known(key); ok {
		return v, nil
	}
	path := t.bucketPath(key)
	v, _, err := ask(ctx, m.link, func(c *zk.Conn) (int32, error) {
		exists, stat, err := c.Exists(path)
		switch {
		case err != nil:
			return 0, err
		case !exists:
			return 0, errGone
		}
		return stat.Version, nil
	})
	if err == nil {
		t.learn(key, v)
	}
	return v, m.at(path, err)
}
