package config_test

import (
	"fmt"

	"github.com/solotick/solotick/config"
)

func Example() {
	file := `
namespace: billing
redis: {url: "${REDIS_URL}"}
defaults: {timeout: 10m}
jobs:
  - name: nightly-report
    schedule: "0 2 * * *"
    exec: {command: [./report.sh, --full]}
`
	env := func(name string) (string, bool) { return "redis://:hunter2@localhost:6379/0", name == "REDIS_URL" }
	c, err := config.Parse("solotick.yaml", []byte(file), env)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Namespace, c.Redis.URL, c.Lease.TTL)
	for _, job := range c.Jobs {
		fmt.Println(job.Spec.Name, job.Spec.Schedule, job.Spec.Timeout, job.Exec.Reveal().Args)
	}
	// Output:
	// billing (hidden) 15s
	// nightly-report 0 2 * * * 10m0s [./report.sh --full]
}

func ExampleParse_errors() {
	file := `namspace: billing
lease: {ttl: 15}
jobs:
  - name: nightly-report
    schedule: "0 2 * * *"
    timeout: -5s
    exec: {command: ./report.sh --full}
`
	_, err := config.Parse("solotick.yaml", []byte(file), nil)
	fmt.Println(err)
	// Output:
	// solotick.yaml:1:1: namspace: is not a known key; did you mean namespace?
	// solotick.yaml:2:14: lease.ttl: "15" needs a unit: write 15s for seconds, or use ms, m or h
	// solotick.yaml:6:14: jobs[0].timeout: "-5s" must be at least 0s
	// solotick.yaml:7:21: jobs[0].exec.command: "./report.sh --full" must be a list of strings, such as [./report.sh, --full] or [sh, -c, "…"], not a single value
}
