package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Set changes one value by its path in the file, such as redis.url. The rules of the file hold, but
// ${NAME} is not replaced. Flags that override the file use it. It can set every single value
// outside of jobs and defaults. Setting redis.url replaces all other servers and users of redis,
// and store; tls stays for a rediss URL, and so do wait_replicas and failover_grace. Setting
// store.url replaces redis. An error is an [Errors] without positions, and leaves c as it was.
func (c *Config) Set(path, text string) error {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, node,
		}}
	}
	r := newReader("", nil)
	r.partial = true
	changed := *c
	if path == "store.url" {
		changed.Redis = Redis{}
	}
	if path == "redis.url" {
		was := changed.Redis
		changed.Store = Store{}
		changed.Redis = Redis{WaitReplicas: was.WaitReplicas, FailoverGrace: was.FailoverGrace}
		if strings.HasPrefix(text, "rediss:") {
			changed.Redis.TLS = was.TLS
		}
	}
	r.readSettings(value{node: node}, &changed)
	if path == "max_runs" {
		r.maxRunsFaults(&changed, mention(text))
	}
	if r.has(value{}, "defaults") || r.has(value{}, "jobs") {
		r.add(0, 0, path, "", "can be written in the configuration file only")
	}
	if err := r.err(); err != nil {
		return err
	}
	*c = changed
	return nil
}
