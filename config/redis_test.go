package config_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

const threeNodes = "[redis://a, redis://b, 'redis://c:6380/1']"

var redisFaults = []bad{
	top("no server", "redis: §{wait_replicas: 1}", "redis.url: is missing; write one such as redis://localhost:6379/0, or addrs with cluster: true or master: NAME, or quorum"),
	top("two ways to name servers", "redis: {url: redis://h, addrs: §['h:1'], cluster: true}", "redis.addrs: cannot be combined with url; keep one of url, addrs and quorum"),
	top("three ways to name servers", "redis: {url: redis://h, addrs: §['h:1'], cluster: true, quorum: §"+threeNodes+"}",
		"redis.addrs: cannot be combined with url", "redis.quorum: cannot be combined with url"),
	top("addresses of what", "redis: {addrs: §['a:1', 'b:1']}", "redis.addrs: needs cluster: true (Redis Cluster) or master: NAME (Sentinel) beside it; a single server is written as url"),
	top("addresses of no Cluster", "redis: {addrs: §['a:1'], cluster: false}", "redis.addrs: needs cluster: true"),
	top("Cluster and Sentinel", "redis: {addrs: ['a:1'], cluster: true, master: §main}", `redis.master: "main" cannot be combined with cluster`),
	top("Cluster without addresses", "redis: §{cluster: true}", "redis.addrs: is missing; list some servers of the Cluster, or the Sentinels"),
	top("Sentinel without addresses", "redis: §{master: main}", "redis.addrs: is missing; list some servers"),
	top("Cluster at a URL", "redis: {url: redis://h, cluster: §true}", `redis.cluster: "true" needs addrs instead of url`),
	top("Sentinel at a URL", "redis: {url: redis://h, master: §main}", `redis.master: "main" needs addrs instead of url: the Sentinels`),
	top("Cluster of a quorum", "redis: {quorum: "+threeNodes+", cluster: §true}", `redis.cluster: "true" needs addrs instead of quorum`),
	top("cluster that is no boolean", "redis: {addrs: ['a:1'], cluster: §maybe}", `redis.cluster: "maybe" must be true or false$`),
	top("addresses that are a string", "redis: {addrs: §'a:1', cluster: true}", "redis.addrs: (hidden) must be a list of addresses"),
	top("no addresses", "redis: {addrs: §[], cluster: true}", "redis.addrs: must name at least one server, as host:port"),
	top("addresses that are wrong", "redis: {cluster: true, addrs: [§a, §'redis://:"+secret+"@b:1', §':6379', §'c:0', 'd:1', §'D:1', §'"+secret+"@e:1', §'f f:1', §~]}",
		`redis.addrs[0]: "a" must be host:port, such as redis-1:6379`, "redis.addrs[1]: (hidden) must be host:port, without redis://",
		`redis.addrs[2]: ":6379" must be host:port`, `redis.addrs[3]: "c:0" must have a port from 1 to 65535`, `redis.addrs[5]: "D:1" is listed already`,
		"redis.addrs[6]: (hidden) must be host:port", `redis.addrs[7]: "f f:1" must be host:port`, "redis.addrs[8]: has no value"),
	top("master that is empty", "redis: {addrs: ['a:1'], master: §''}", `redis.master: "" must not be empty$`),
	top("too few for a quorum", "redis: {quorum: §[redis://a, redis://b]}", "redis.quorum: must list 3 to 9 URLs of independent servers, better an odd number; this is 2$"),
	top("a quorum of one server", "redis: {quorum: [redis://a, §'rediss://u:"+secret+"@A:6379/1', redis://b]}", "redis.quorum[1]: (hidden) names a server that is listed already"),
	top("a quorum's URL that is wrong", "redis: {quorum: [redis://a, §'b:1', 'unix:///b']}", "redis.quorum[1]: (hidden) must start with redis://"),
	top("a quorum that waits for replicas", "redis: {quorum: "+threeNodes+", wait_replicas: §1}", `redis.wait_replicas: "1" must be 0 with quorum`),
	top("a quorum with a grace", "redis: {quorum: "+threeNodes+", failover_grace: §30s}", `redis.failover_grace: "30s" must be 0s with quorum`),
	top("Cluster with a grace", "redis: {failover_grace: §30s, addrs: ['a:1'], cluster: true}", `redis.failover_grace: "30s" must be 0s with cluster`),
	top("Cluster with a database", "redis: {addrs: ['a:1'], cluster: true, database: §1}", `redis.database: "1" must be 0 with cluster`),
	top("database below 0", "redis: {url: redis://h, database: §-1}", `redis.database: "-1" must be at least 0`),
	top("database twice", "redis: {url: redis://h/0, database: §1}", `redis.database: "1" is in the URL as well`),
	top("database twice in a query", "redis: {url: 'redis://h?db=2', database: §1}", `redis.database: "1" is in the URL as well`),
	top("user twice", "redis: {url: 'redis://u:p@h', username: §app, password: §"+secret+"}", `redis.username: "app" is in the URL as well`, "redis.password: (hidden) is in the URL as well"),
	top("password in one URL of a quorum", "redis: {quorum: [redis://a, 'redis://:p@b', redis://c], password: §"+secret+"}", "redis.password: (hidden) is in the URL as well"),
	top("user without a password", "redis: {url: redis://h, username: §app}", `redis.username: "app" needs a password beside it`),
	top("password that is empty", "redis: {url: redis://h, password: §'${EMPTY}'}", `redis.password: "${EMPTY}" must not be empty; remove the key`),
	top("Sentinel's password without Sentinel", "redis: {url: redis://h, sentinel_username: §app, sentinel_password: §"+secret+"}",
		`redis.sentinel_username: "app" needs master: it is for the Sentinels`, "redis.sentinel_password: (hidden) needs master"),
	top("Sentinel's user without a password", "redis: {addrs: ['a:1'], master: main, sentinel_username: §app}", `redis.sentinel_username: "app" needs a sentinel_password`),
	top("TLS at a URL without", "redis: {url: redis://h, tls: §{}}", "redis.tls: needs rediss:// in every URL: redis:// is without TLS"),
	top("TLS at a socket", "redis: {url: unix:///r, tls: §{}}", "redis.tls: needs rediss:// in every URL: unix:// is without TLS"),
	top("TLS at one URL without", "redis: {quorum: [rediss://a, rediss://b, redis://c], tls: §{}}", "redis.tls: needs rediss:// in every URL"),
	top("TLS without a value", "redis: {addrs: ['a:1'], cluster: true, tls: §~}", "redis.tls: has no value"),
	top("TLS that is a boolean", "redis: {addrs: ['a:1'], cluster: true, tls: §true}", `redis.tls: "true" must be a mapping`),
	top("TLS with half a pair", "redis: {url: rediss://h, tls: {cert_file: §c}}", `redis.tls.cert_file: "c" needs key_file beside it`),
	top("TLS with the other half", "redis: {url: rediss://h, tls: {key_file: §k, §ca_fil: x}}", `redis.tls.key_file: "k" needs cert_file beside it`, "redis.tls.ca_fil: is not a known key; did you mean ca_file?"),
	top("TLS with an empty name", "redis: {url: rediss://h, tls: {server_name: §''}}", `redis.tls.server_name: "" must not be empty`),
}

func TestEachWayToNameServersIsRead(t *testing.T) {
	for yaml, want := range map[string]config.Redis{
		"{url: redis://h, username: app, password: '${SECRET}', database: 2}": {
			URL: config.NewSecret("redis://h"), Username: "app", Password: config.NewSecret(secret), Database: 2,
		},
		"{addrs: ['a:1', '[::1]:2'], cluster: true, tls: {}, wait_replicas: 1}": {
			Addrs: []string{"a:1", "[::1]:2"}, Cluster: true, TLS: &config.TLS{}, WaitReplicas: 1,
		},
		"{addrs: ['${UNSET:-a:1}'], master: main, database: 3, sentinel_username: s, sentinel_password: '${SECRET}', failover_grace: 30s, tls: {ca_file: c, cert_file: d, key_file: e, server_name: f}}": {
			Addrs: []string{"a:1"}, Master: "main", Database: 3, SentinelUsername: "s", SentinelPassword: config.NewSecret(secret),
			FailoverGrace: 30e9, TLS: &config.TLS{CAFile: "c", CertFile: "d", KeyFile: "e", ServerName: "f"},
		},
		"{quorum: " + threeNodes + ", password: x, cluster: false, wait_replicas: 0}": {
			Quorum: []config.Secret{config.NewSecret("redis://a"), config.NewSecret("redis://b"), config.NewSecret("redis://c:6380/1")}, Password: config.NewSecret("x"),
		},
	} {
		t.Run(yaml, func(t *testing.T) {
			c := parse(t, "redis: "+yaml+"\n"+aJob)
			require.Equal(t, want, c.Redis)
			require.True(t, c.Redis.Configured())
			require.NotContains(t, fmt.Sprintf("%+v", c), secret)
		})
	}
	redis := parse(t, aJob).Redis
	require.False(t, redis.Configured())
}

func TestSetURLReplacesAllServers(t *testing.T) {
	for yaml, keepsTLS := range map[string]bool{
		"{addrs: ['a:1'], cluster: true, tls: {ca_file: c}, password: x, wait_replicas: 1}":                true,
		"{addrs: ['a:1'], master: main, username: u, password: x, sentinel_password: y, wait_replicas: 1}": false,
		"{url: 'rediss://u:p@h/3', tls: {ca_file: c}, wait_replicas: 1}":                                   true,
		"{quorum: " + threeNodes + ", wait_replicas: 0}":                                                   false,
	} {
		t.Run(yaml, func(t *testing.T) {
			c := parse(t, "redis: "+yaml+"\n"+aJob)
			want := config.Redis{URL: config.NewSecret("redis://b"), WaitReplicas: c.Redis.WaitReplicas}
			require.Error(t, c.Set("redis.url", "b"))
			require.NotEqual(t, want, c.Redis)
			tls := c.Redis.TLS
			secure := *c
			require.NoError(t, c.Set("redis.url", "redis://b"))
			require.Equal(t, want, c.Redis)

			require.Equal(t, keepsTLS, tls != nil)
			require.NoError(t, secure.Set("redis.url", "rediss://b"))
			want.URL, want.TLS = config.NewSecret("rediss://b"), tls
			require.Equal(t, want, secure.Redis)
		})
	}
}
