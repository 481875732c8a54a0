package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErrorsAreFoundByTheirFormats(t *testing.T) {
	for english, chinese := range map[string]string{
		"the store does not answer":                                            "存储没有响应",
		"must be a whole number from 1 to 1000":                                "必须是 1 到 1000 的整数",
		"must be one of name, state, with - before it for the other direction": "必须是其中之一：name, state，前面加 - 为反向",
		"lock a: token 7 holds nothing any more":                               "锁 a：令牌 7 已不再持有任何东西",
		`job "x": lease: there is no record of this name`:                      `任务 "x"：没有此名称的记录`,
		"connection reset by peer":                                             "",
		"must be a whole number":                                               "",
	} {
		assert.Equal(t, chinese, chineseOf(english), english)
	}
	f := &frame{Context: Context{Lang: Chinese}}
	require.Equal(t, `<span lang="en">&lt;b&gt;</span>`, string(f.Said("<b>")))
	require.Equal(t, "没有任务 &lt;b&gt;", string(f.Said("there is no job <b>")))
}

func TestEachErrorOfARequestIsInChinese(t *testing.T) {
	makers := []string{"newProblem", "notFound", "forbidden", "unauthorized", "unavailable"}
	// These only programs get: they are of the API, or of requests that no browser sends.
	api := []string{
		"this console has no checks of its store: a worker on Redis has", "this has no form as plain text", "Content-Type: must be application/json",
		"Content-Type: must be application/x-www-form-urlencoded",
	}
	found := 0
	for _, text := range spokenBy(t, "../..", makers) {
		if strings.Contains(text, " ") && !strings.Contains(strings.Join(api, "\n"), text) {
			found++
			assert.Contains(t, messages, text)
		}
	}
	require.Greater(t, found, 15)
	for english, chinese := range messages {
		assert.Len(t, verb.FindAllString(chinese, -1), len(verb.FindAllString(english, -1)), english)
	}
}
