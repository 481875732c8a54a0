// Package schedule reads schedule specs, and computes the ticks at which they make a job due.
//
// [Parse] reads a spec once. [Schedule.Next] then is a pure function from one instant to the next
// tick. It reads no clock and remembers nothing, so replicas that call it with the same instant
// agree without messages.
//
// # Specs
//
//	spec                    ticks
//	0 2 * * *               minute, hour, day of month, month, day of week
//	*/10 0 2 * * *          the same after a field of seconds
//	@hourly                 0 * * * *
//	@daily, @midnight       0 0 * * *
//	@weekly                 0 0 * * 0
//	@monthly                0 0 1 * *
//	@yearly, @annually      0 0 1 1 *
//	@every 90s              at the multiples of 90 seconds since the Unix epoch
//	@every 1h offset 5m     five minutes after each multiple of an hour since the Unix epoch
//	@at 2030-01-31T08:00:00Z  once, at a time as RFC 3339 writes it
//	@triggered              none: the job runs when somebody triggers it, and only then
//	@stored                 none of its own: those of the job's schedules that lie in the store
//
// A field is a list of items with commas between them. Letters may be small or capital.
//
//	item        in              stands for
//	*  ?        any field       every value
//	5           any field       the value: second and minute 0-59, hour 0-23, day 1-31, month 1-12, weekday 0-7
//	MON  JAN    weekday, month  the value by its English name; Sunday is 0 and 7
//	1-5         any field       the values of a range, in order: FRI-SUN is one, FRI-MON is not
//	*/15        any field       every 15th value, from the field's lowest
//	10-30/5     any field       every 5th value of a range
//	10/5        any field       every 5th value from 10 on
//	H           any field       one value that depends on the job's name (day of month: from 1 to 28)
//	H(0-29)     any field       one value of a range that depends on the job's name
//	H/15        any field       every 15th value, from one that depends on the job's name; H(0-29)/10 is alike
//	L           day of month    the month's last day
//	15W  LW     day of month    the day from Monday to Friday nearest to the 15th in the same month; the last such day
//	FRIL  5L    weekday         the month's last Friday
//	FRI#2  5#2  weekday         the month's second Friday
//
// When both day of month and day of week are restricted, a day that matches either is enough. So "0
// 0 13 FRI" is every 13th and every Friday. A field restricts nothing when it has an item that is *
// or ? alone; */2 restricts.
//
// H spreads jobs that should run about as often as each other, but not at once. What it stands for
// depends on the job's name and the field alone; it never changes between replicas, restarts or
// releases.
//
// # Clock changes
//
// Cron specs are read in a time zone. Its clock may be put forward, so that some local times do not
// exist (a gap), and back, so that some come twice. What a spec then does depends on how its minute
// and hour fields begin:
//
//	spec                                       in a gap                             in a repeated time
//	wildcard: minute or hour begins with *     times that do not exist do not tick  both passes tick
//	fixed-time: every other                    one tick at the end of the gap       the first pass ticks
//
// So a wildcard spec keeps real time. When the clock jumps by an hour, */30 and @hourly tick on
// every 30 and 60 minutes, with none lost and none doubled. A fixed-time spec does its daily work
// once a day: each of its times ticks when the clock first shows it or jumps over it. All times in
// one gap, and one due at its end, are one tick. This holds for every change alike. Examples are
// Lord Howe Island's half hour, a midnight that does not exist (Cairo 2024-04-26), and a whole day
// (Samoa 2011-12-30).
//
//   - ? and H/15 begin with a wildcard, as * and */15 do. H and H(0-29)/10 do not, nor does 0-59.
//   - The seconds field does not decide. "*/10 30 1 *" is a fixed-time spec. Its six ticks run in
//     the first pass only, and as one when a gap takes all of that minute.
//   - @every and @at know no local time, and so no clock changes.
//
// [Schedule.ClockChanges] says what changes do to a schedule, for people to be warned.
//
// # Caveats
//
//   - A wildcard spec with fixed hours, such as "*/15 2 *", does not tick at all on a day whose
//     clock jumps over that hour. It ticks for two hours on a day that repeats it.
//   - "@every 24h" is at midnight UTC all year, in no zone's local time. A period that does not
//     divide a day comes at other times each day. "@every 7h" does not start again at midnight, as
//     "0 */7 *" does.
//   - The rules of time zones change by law. Replicas agree on ticks when their time zone databases
//     do.
//   - Refused, with a reason, are TZ= and CRON_TZ= (a job's zone is set beside its schedule),
//     @reboot, and steps longer than their field. So are periods below a second or with fractions
//     of one, and dates that never come, such as 30 February.
package schedule
