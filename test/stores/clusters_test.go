package stores

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/internal/zktest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/etcdlease"
	"github.com/solotick/solotick/lease/natslease"
	"github.com/solotick/solotick/lease/zklease"
)

// get returns what a server says of itself.
func get(t testing.TB, url string) string {
	res, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}

// last returns the number at the end of a line.
func last(t testing.TB, line string) float64 {
	fields := strings.Fields(line)
	n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	require.NoError(t, err)
	return n
}

func etcdCluster(t testing.TB) *server {
	members, err := servertest.EtcdCluster()
	require.NoError(t, err)
	var list []member
	for _, m := range members {
		t.Cleanup(m.Stop)
		list = append(list, member{
			addr: m.Addr(0), leads: func() bool { return servertest.Leads(m) },
			freeze: must(t, m.Freeze), thaw: must(t, m.Thaw), kill: m.Kill, restart: must(t, m.Run),
		})
	}
	return cluster(t, list)
}

var etcd = kit{
	name: "etcd", successor: anotherLeader, replicated: etcdCluster, lasting: etcdCluster, short: true,
	start: func(t testing.TB) *server {
		s, err := servertest.Etcd(durable(t, "--unsafe-no-fsync=false")...)
		require.NoError(t, err)
		t.Cleanup(s.Stop)
		backup, restore := coldBackup(t, filepath.Join(s.Dir, "data"), s.Kill, must(t, s.Run))
		return &server{
			addrs: []string{s.Addr(0)}, freeze: must(t, s.Freeze), thaw: must(t, s.Thaw), kill: s.Kill, restart: must(t, s.Run),
			empty: func() {
				admin, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr(0)}})
				require.NoError(t, err)
				_, err = admin.Delete(t.Context(), "\x00", clientv3.WithFromKey())
				require.NoError(t, err)
				require.NoError(t, admin.Close())
			},
			backup: backup, restore: restore,
			requests: func() (n float64) {
				for line := range strings.Lines(get(t, "http://"+s.Addr(0)+"/metrics")) {
					if strings.HasPrefix(line, "grpc_server_msg_received_total") {
						n += last(t, line)
					}
				}
				return n
			},
			stepClock: func(ahead time.Duration) { require.NoError(t, s.SetClock(ahead)) },
		}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return etcdlease.Open("etcd://"+strings.Join(addrs, ","), namespace)
	},
}

func natsCluster(t testing.TB) *server {
	servers := natstest.StartCluster(t)
	var list []member
	for _, m := range servers {
		list = append(list, member{
			addr: m.Addr(), leads: func() bool { return natstest.Leader("KV_solotick", servers) == m },
			freeze: m.Freeze, thaw: m.Thaw, kill: m.Kill, restart: m.Restart,
		})
	}
	return cluster(t, list)
}

var natsJetStream = kit{
	name: "NATS", successor: anotherLeader, replicated: natsCluster, lasting: natsCluster,
	start: func(t testing.TB) *server {
		monitor, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, monitor.Close())
		s := natstest.Start(t, natstest.WithConf("http: "+monitor.Addr().String()))
		backup, restore := coldBackup(t, s.Dir(), s.Kill, s.Restart)
		return &server{
			addrs: []string{s.Addr()}, freeze: s.Freeze, thaw: s.Thaw, kill: s.Kill, restart: s.Restart,
			empty: func() {
				conn, err := nats.Connect(s.URL())
				require.NoError(t, err)
				defer conn.Close()
				admin, err := jetstream.New(conn)
				require.NoError(t, err)
				for name := range admin.StreamNames(t.Context()).Name() {
					require.NoError(t, admin.DeleteStream(t.Context(), name))
				}
			},
			backup: backup, restore: restore, stepClock: s.SetClock,
			requests: func() float64 {
				var seen struct {
					Messages float64 `json:"in_msgs"`
				}
				require.NoError(t, json.Unmarshal([]byte(get(t, "http://"+monitor.Addr().String()+"/varz")), &seen))
				return seen.Messages
			},
		}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return natslease.Open(fmt.Sprintf("nats://%s?replicas=%d", strings.Join(addrs, ","), len(addrs)), namespace)
	},
}

// removeNodes removes everything that a fleet has on a ZooKeeper, in one transaction.
func removeNodes(t testing.TB, addr string) {
	admin, _, err := zk.Connect([]string{addr}, time.Minute, zk.WithLogInfo(false))
	require.NoError(t, err)
	defer admin.Close()
	var below func(path string) (ops []any, err error)
	below = func(path string) (ops []any, err error) {
		children, _, err := admin.Children(path)
		for _, child := range children {
			if err == nil {
				var list []any
				list, err = below(path + "/" + child)
				ops = append(ops, list...)
			}
		}
		return append(ops, &zk.DeleteRequest{Path: path, Version: -1}), err
	}
	require.Eventually(t, func() bool {
		ops, err := below("/solotick")
		if err == nil {
			_, err = admin.Multi(ops...)
		}
		return err == nil // otherwise somebody has changed something meanwhile
	}, patience, time.Millisecond)
}

func zooKeepers(t testing.TB) *server {
	servers := zktest.StartEnsemble(t, 3)
	var list []member
	for _, m := range servers {
		list = append(list, member{
			addr: m.Addr(), leads: m.Leads,
			freeze: func() { m.Freeze(t) }, thaw: func() { m.Thaw(t) }, kill: m.Kill, restart: func() { m.Restart(t) },
		})
	}
	s := cluster(t, list)
	s.all.thaw = func() { zktest.ThawAll(t, servers) }
	return s
}

var zooKeeper = kit{
	name: "ZooKeeper", successor: anotherLeader, replicated: zooKeepers, lasting: zooKeepers,
	start: func(t testing.TB) *server {
		s := zktest.StartWithClock(t, durable(t, "forceSync=yes")...)
		var kept string
		return &server{
			addrs:  []string{s.Addr()},
			freeze: func() { s.Freeze(t) }, thaw: func() { s.Thaw(t) }, kill: s.Kill, restart: func() { s.Restart(t) },
			empty:  func() { removeNodes(t, s.Addr()) },
			backup: func() { kept = s.Backup(t) },
			restore: func() {
				s.Kill()
				time.Sleep(outage)
				s.Restore(t, kept)
			},
			stepClock: func(ahead time.Duration) { s.SetClock(t, ahead) },
			requests: func() float64 {
				conn, err := net.Dial("tcp", s.Addr())
				require.NoError(t, err)
				defer func() { _ = conn.Close() }()
				_, err = conn.Write([]byte("srvr"))
				require.NoError(t, err)
				text, err := io.ReadAll(conn)
				require.NoError(t, err)
				_, text, ok := bytes.Cut(text, []byte("Received: "))
				require.True(t, ok)
				return last(t, strings.SplitN(string(text), "\n", 2)[0])
			},
		}
	},
	open: func(addrs []string, namespace string) (lease.Store, error) {
		return zklease.Open("zk://"+strings.Join(addrs, ","), namespace)
	},
}
