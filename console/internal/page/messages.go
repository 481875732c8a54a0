package page

import (
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
)

// messages is the part of the catalogue for errors, which are English texts by the time that a page
// shows them: by the text, or its format where it has verbs, the format in Chinese.
var messages = map[string]string{
	"there is no such page":                                        "没有这个页面",
	"there is only %s here":                                        "此处只有 %s",
	"there is no such action":                                      "没有这个操作",
	"there is no job %s":                                           "没有任务 %s",
	"job %q: lease: there is no record of this name":               "任务 %s：没有此名称的记录",
	"the filter chooses no job":                                    "筛选没有选中任何任务",
	"this program lets you see nothing here":                       "此程序不允许你查看这里的内容",
	"this needs a bearer token, or a login":                        "需要 bearer 令牌，或登录",
	"this needs the role operate; yours is %s":                     "需要 operate 角色；你的是 %s",
	"this console is read-only":                                    "此控制台为只读",
	"Authorization: must be Bearer and a token, once":              "Authorization：必须是 Bearer 加令牌，且只有一次",
	"Authorization: the token is not known":                        "Authorization：令牌未知",
	"the token is not known":                                       "令牌未知",
	"token: is not known":                                          "令牌：未知",
	"too many wrong tokens have come from this address: wait":      "来自此地址的错误令牌过多：请稍候",
	"there is nothing to log in to: no tokens are configured":      "无需登录：没有配置令牌",
	"a page of another site has sent this request":                 "此请求由其他网站的页面发出",
	"Accept: must allow text/html, application/json or text/plain": "Accept：必须允许 text/html、application/json 或 text/plain",
	"the query must have at most 8192 bytes":                       "查询最多 8192 字节",
	"this page cannot be written; the log says why":                "此页面无法生成；原因见日志",
	"the store did not answer in time":                             "存储没有及时响应",
	"the store does not answer":                                    "存储没有响应",
	"the console stops":                                            "控制台正在停止",
	"without tokens nothing can be changed here: configure tokens, or use the command line":                                        "没有令牌时此处不能更改任何内容：请配置令牌，或使用命令行",
	"without tokens this answers only on this machine, and it was asked on another address: configure tokens":                      "没有令牌时只在本机应答，而请求来自另一个地址：请配置令牌",
	"without tokens this answers only on this machine, and it was asked from another one: configure tokens":                        "没有令牌时只在本机应答，而请求来自另一台机器：请配置令牌",
	"without tokens this answers only on this machine, by the name localhost or a loopback address: the Host header names another": "没有令牌时只在本机以 localhost 或回环地址应答，而 Host 头是另一个名称",
	"without tokens this answers only on this machine, and the header %s shows a proxy: configure tokens":                          "没有令牌时只在本机应答，而 %s 头表明有代理：请配置令牌",
	"the filter chooses other jobs now than those that were shown: nothing was changed; look again":                                "筛选现在选中的任务与显示的不同：没有更改任何内容；请重新查看",

	"%s: refused: %s; the next trigger is possible in %s":                                 "%s：被拒绝：%s；%s 后可再次触发",
	"%s: the tick of %s does not run or wait":                                             "%s：%s 的调度点没有在运行或等待",
	"%s: no tick runs or waits, so there is nothing to cancel":                            "%s：没有运行或等待的调度点，无可取消",
	"%s: %d ticks are open: name one of them":                                             "%s：有 %d 个未了结的调度点：请指定其中一个",
	"lock %s: nobody holds it":                                                            "锁 %s：没有持有者",
	"lock %s: token %d holds nothing":                                                     "锁 %s：令牌 %d 没有持有任何东西",
	"lock %s: token %d holds nothing any more":                                            "锁 %s：令牌 %d 已不再持有任何东西",
	"job %q: fleet: a leader task starts again wherever its run ends: pause it to end it": "任务 %s：主任务的运行结束后会重新开始：要结束它请暂停",
	"job %q: fleet: a leader task runs all the time, so it cannot be triggered":           "任务 %s：主任务一直运行，不能触发",

	"must be given once":                                                                       "只能给出一次",
	"must not be given beside after":                                                           "不能与 after 同时给出",
	"must be left out without a key":                                                           "没有键时必须省略",
	"must be whole minutes":                                                                    "必须是整分钟",
	"must have at most %d bytes":                                                               "最多 %d 字节",
	"must be UTF-8 without control characters":                                                 "必须是不含控制字符的 UTF-8",
	"must be a whole number from %d to %d":                                                     "必须是 %d 到 %d 的整数",
	"must be one of at most %d values":                                                         "最多 %d 个值",
	"must be one of %s":                                                                        "必须是其中之一：%s",
	"must be one of %s, with - before it for the other direction":                              "必须是其中之一：%s，前面加 - 为反向",
	"must be at least a 2000th of the span, %s":                                                "至少为跨度 %s 的 1/2000",
	"must be a word of small letters, such as succeeded":                                       "必须是小写字母的单词，例如 succeeded",
	"must be a word of small letters, such as trigger":                                         "必须是小写字母的单词，例如 trigger",
	"must be a cursor that a page of this list gave":                                           "必须是此列表某一页给出的游标",
	"must be a cursor that a page of this history gave":                                        "必须是此历史某一页给出的游标",
	"must be a cursor that a page of jobs gave":                                                "必须是任务列表某一页给出的游标",
	"is a cursor of another order: leave it out to begin at the first page":                    "是另一种排序的游标：省略它可从第一页开始",
	"must be the token of a grant, a whole number above 0":                                     "必须是某次授予的令牌，大于 0 的整数",
	"must have at most %d letters, digits, dots, hyphens and underscores":                      "最多 %d 个字母、数字、点、连字符和下划线",
	"must be a time such as 2026-11-20T01:00:00Z, or Unix milliseconds":                        "必须是时间，例如 2026-11-20T01:00:00Z，或 Unix 毫秒",
	"must be a duration such as 90m, 6h or 7d, from %s to %s":                                  "必须是时长，例如 90m、6h 或 7d，从 %s 到 %s",
	"is no field here; there are: %s":                                                          "不是此处的字段；可用的有：%s",
	"is no parameter here; there are: %s":                                                      "不是此处的参数；可用的有：%s",
	"is no parameter here; there are none":                                                     "不是此处的参数；此处没有参数",
	"is no parameter of this page; there are: %s":                                              "不是此页面的参数；可用的有：%s",
	"and %d more are no parameters of this page either":                                        "还有 %d 个也不是此页面的参数",
	"must be a time as RFC 3339 writes it, such as 2030-01-31T08:00:00Z, or Unix milliseconds": "必须是 RFC 3339 格式的时间，例如 2030-01-31T08:00:00Z，或 Unix 毫秒",
	"must be a name of the IANA time zone database, such as Europe/Berlin, or left out for the zone of each job": "必须是 IANA 时区名，例如 Europe/Berlin，省略则用各任务的时区",

	naming.Rule:          "必须以字母或数字开头，最多 128 个 A-Z a-z 0-9 . _ - 字符",
	protocol.PayloadRule: "必须是最多 4096 字节、不含 NUL 的 UTF-8 文本",
}

// format finds the texts that a message with verbs makes.
type format struct {
	english *regexp.Regexp
	chinese string
}

var verb = regexp.MustCompile(`%[a-z]`)

// formats has the messages with verbs, the longest first: they say more.
var formats = sync.OnceValue(func() (list []format) {
	for english, chinese := range messages {
		if verb.MatchString(english) {
			pattern := "(?s)^" + verb.ReplaceAllString(regexp.QuoteMeta(english), "(.+)") + "$"
			list = append(list, format{regexp.MustCompile(pattern), verb.ReplaceAllString(chinese, "\x00")})
		}
	}
	slices.SortFunc(list, func(a, b format) int { return len(b.english.String()) - len(a.english.String()) })
	return list
})

// chineseOf returns what the catalogue has for an error; "" when it has nothing.
func chineseOf(message string) string {
	if chinese := messages[message]; chinese != "" {
		return chinese
	}
	for _, f := range formats() {
		if found := f.english.FindStringSubmatch(message); found != nil {
			chinese := f.chinese
			for _, argument := range found[1:] {
				chinese = strings.Replace(chinese, "\x00", argument, 1)
			}
			return chinese
		}
	}
	return ""
}

// Said writes an error in the language of the page; in English, and marked as that, where the
// catalogue does not have it.
func (f *frame) Said(message string) template.HTML {
	if f.Lang == Chinese {
		if chinese := chineseOf(message); chinese != "" {
			return template.HTML(escaped(chinese)) //nolint:gosec // escaped
		}
	}
	return template.HTML(`<span lang="en">` + escaped(message) + `</span>`) //nolint:gosec // escaped
}
