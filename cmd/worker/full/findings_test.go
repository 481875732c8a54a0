package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/lease/etcdlease"
	"github.com/solotick/solotick/lease/mysqllease"
	"github.com/solotick/solotick/lease/natslease"
	"github.com/solotick/solotick/lease/pglease"
	"github.com/solotick/solotick/lease/zklease"
)

func TestDoctorJudgesTheServersOfAStore(t *testing.T) {
	etcd := func(change func(*etcdlease.Facts)) []doctor.Finding {
		member := etcdlease.Member{Endpoint: "h:1", Version: "3.6.0", Leader: true, Size: 1 << 20, Quota: 2 << 30, Uncertain: 10 * time.Millisecond}
		f := etcdlease.Facts{Members: []etcdlease.Member{member, member, member}}
		change(&f)
		return etcdFindings(f)
	}
	mysql := func(change func(*mysqllease.Facts)) []doctor.Finding {
		f := mysqllease.Facts{Version: "8.4.0", Durable: true}
		change(&f)
		return mysqlFindings(f)
	}
	nats := func(change func(*natslease.Facts)) []doctor.Finding {
		f := natslease.Facts{Server: "2.15.2", Bucket: "b", Replicas: 3, Current: 3, Clustered: true, Values: 1, Bytes: 100, MaxBytes: 1000}
		change(&f)
		return natsFindings(f)
	}
	postgres := func(change func(*pglease.Facts)) []doctor.Finding {
		f := pglease.Facts{Version: "15.8", Synchronous: true}
		change(&f)
		return postgresFindings(f)
	}
	leads, follows := zklease.Server{Addr: "a:1", Version: "3.8.0", Mode: "leader"}, zklease.Server{Addr: "b:1", Version: "3.8.0", Mode: "follower"}
	zooKeeper := func(list ...zklease.Server) []doctor.Finding { return zooKeeperFindings(list) }
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		findings []doctor.Finding
		check    string
		result   doctor.Result // of this check; those of the others are OK
		says     string
	}{
		"etcd: good":    {etcd(func(*etcdlease.Facts) {}), "members", doctor.OK, "3 of 3 answer"},
		"etcd: silent":  {etcd(func(f *etcdlease.Facts) { f.Members[1] = etcdlease.Member{Endpoint: "h:2", Err: refused} }), "members", doctor.Warn, "2 of 3 answer; not h:2"},
		"etcd: old":     {etcd(func(f *etcdlease.Facts) { f.Members[1].Version, f.Members[1].TooOld = "3.4.1", true }), "version", doctor.Fail, "3.4.1"},
		"etcd: filling": {etcd(func(f *etcdlease.Facts) { f.Members[1].Size = 2 << 30 }), "space", doctor.Warn, "2048 of 2048 MiB"},
		"etcd: full":    {etcd(func(f *etcdlease.Facts) { f.Alarms = []string{"NOSPACE"} }), "space", doctor.Fail, "NOSPACE"},
		"etcd: clocks":  {etcd(func(f *etcdlease.Facts) { f.Members[2].Ahead = 3 * time.Second }), "members' clocks", doctor.Warn, "2.98s"},
		"etcd: agree":   {etcd(func(f *etcdlease.Facts) { f.Members[2].Ahead = 900 * time.Millisecond }), "members' clocks", doctor.OK, ""},

		"MySQL: good":      {mysql(func(*mysqllease.Facts) {}), "version", doctor.OK, "8.4.0"},
		"MySQL: old":       {mysql(func(f *mysqllease.Facts) { f.TooOld = true }), "version", doctor.Fail, "MySQL 8"},
		"MySQL: read-only": {mysql(func(f *mysqllease.Facts) { f.ReadOnly = true }), "primary", doctor.Fail, "name the primary"},
		"MySQL: forgets":   {mysql(func(f *mysqllease.Facts) { f.Durable = false }), "durability", doctor.Warn, "sync_binlog"},

		"NATS: good":          {nats(func(*natslease.Facts) {}), "copies", doctor.OK, "3 of 3 servers"},
		"NATS: a server away": {nats(func(f *natslease.Facts) { f.Current = 2 }), "copies", doctor.Warn, "2 of 3 servers"},
		"NATS: one copy":      {nats(func(f *natslease.Facts) { f.Replicas, f.Current = 1, 1 }), "copies", doctor.Warn, "--replicas=3"},
		"NATS: one server":    {nats(func(f *natslease.Facts) { f.Replicas, f.Current, f.Clustered = 1, 1, false }), "copies", doctor.OK, ""},
		"NATS: in memory":     {nats(func(f *natslease.Facts) { f.Memory = true }), "durability", doctor.Warn, "in files"},
		"NATS: no limit":      {nats(func(f *natslease.Facts) { f.MaxBytes = 0 }), "room", doctor.OK, "no limit"},
		"NATS: nearly full":   {nats(func(f *natslease.Facts) { f.Bytes = 850 }), "room", doctor.Warn, "--max-bytes"},

		"PostgreSQL: good":    {postgres(func(*pglease.Facts) {}), "version", doctor.OK, "15.8"},
		"PostgreSQL: old":     {postgres(func(f *pglease.Facts) { f.TooOld = true }), "version", doctor.Fail, "PostgreSQL 13"},
		"PostgreSQL: standby": {postgres(func(f *pglease.Facts) { f.Standby = true }), "primary", doctor.Fail, "name the primary"},
		"PostgreSQL: forgets": {postgres(func(f *pglease.Facts) { f.Synchronous = false }), "durability", doctor.Warn, "synchronous_commit"},
		"PostgreSQL: behind":  {postgres(func(f *pglease.Facts) { f.Behind = 2 }), "durability", doctor.Warn, "synchronous_standby_names"},
		"PostgreSQL: pooled":  {postgres(func(f *pglease.Facts) { f.Pooled = true }), "notifications", doctor.OK, "pooler"},

		"ZooKeeper: good":             {zooKeeper(leads, follows), "servers", doctor.OK, "2 of 2 answer"},
		"ZooKeeper: versions":         {zooKeeper(leads, follows), "version", doctor.OK, "3.8.0 leader, 3.8.0 follower"},
		"ZooKeeper: a server away":    {zooKeeper(leads, zklease.Server{Addr: "c:1", Err: refused}), "servers", doctor.Warn, "1 of 2 answer; not c:1"},
		"ZooKeeper: old":              {zooKeeper(leads, zklease.Server{Addr: "c:1", Version: "3.5.9", TooOld: true}), "version", doctor.Fail, "3.8.0 leader, 3.5.9"},
		"ZooKeeper: without the word": {zooKeeper(zklease.Server{Addr: "a:1"}), "version", doctor.OK, "no server says its version"},
	} {
		t.Run(name, func(t *testing.T) {
			found := false
			for _, f := range test.findings {
				want := doctor.OK
				if f.Check == test.check {
					found, want = true, test.result
					require.Contains(t, f.Finding+"; "+f.Change, test.says)
				}
				require.Equal(t, want, f.Result, f)
				require.True(t, f.Result == doctor.OK || f.Change != "", f)
			}
			require.True(t, found)
		})
	}
}
