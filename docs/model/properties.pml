/* The properties that are checked where a step is taken: P1 to P8. P9 is at the end of lease.pml. The macros take their names
 * from the places where record.pml and client.pml use them; what they are about has to be in scope there.
 */

#define CHECKS(n) (PROPS & (1 << n))
#define CHECKED(n, holds) assert(!CHECKS(n) || (holds))

/* Lease.Valid: what the holder believes. */
#define BELIEVES(n) (c[n].at != NONE && c[n].at != CLAIM && c[n].at != SYNC && !c[n].over && c[n].left > 0)
#if CLIENTS == 2
#define BELIEVERS(o) ((BELIEVES(0) && c[0].tick == o) + (BELIEVES(1) && c[1].tick == o))
#else
#define BELIEVERS(o) ((BELIEVES(0) && c[0].tick == o) + (BELIEVES(1) && c[1].tick == o) + (BELIEVES(2) && c[2].tick == o))
#endif
#if (LOSSES == 0 && FAILOVERS == 0) || defined(ONE_HOLDER_AFTER_LOSS)
#define P1_one_holder(o) CHECKED(1, BELIEVERS(o) <= 1)
#else
#if CHECKS(1)
#error P1 is of a store that forgets nothing, or of ONE_HOLDER_AFTER_LOSS
#endif
#define P1_one_holder(o)
#endif
#if TAKEOVERS == 0 && RELEASES == 0 && FAILOVERS == 0 && (LOSSES == 0 || defined(SINCE))
#define P5_at_most_once(o) CHECKED(5, begun[o] <= 1)
#else
#if CHECKS(5)
#error P5 is of TAKEOVERS and RELEASES 0
#endif
#define P5_at_most_once(o)
#endif
#define P8_lost_stays_lost(before, after) CHECKED(8, before > 0 || after == 0)

#define P2_tokens_rise() CHECKED(2, rec.tok > newest)
#if defined(NEVER_AGAIN_WHATEVER)
#define P3_never_again() CHECKED(3, !settled[vTick])
#elif FAILOVERS == 0 && (LOSSES == 0 || defined(SINCE))
#define P3_never_again() CHECKED(3, !settled[vTick] || revived[vTick])
#else
#define P3_never_again()
#endif
#define P3_never_again_to_who_knows() CHECKED(3, !(settled[vTick] && vKnown >= vTick))
#define P6_repeated_claim_is_granted() CHECKED(6, !(rec.open[vTick].holder == vHolder && rec.open[vTick].req == vReq))
#if LOSSES == 0 && FAILOVERS == 0 && TICKS <= REMEMBERED
#define P6_repeated_settle_is_done(release) CHECKED(6, release || !(settled[vTick] && settledBy[vTick] == vSerial))
#else
#define P6_repeated_settle_is_done(release)
#endif
#if LOSSES == 0 && FAILOVERS == 0
#define P7_stale_is_fenced() CHECKED(7, vSerial == newestOf[vTick])
#define P7_one_outcome() CHECKED(7, !settled[vTick])
#else /* who was taken over may be the first to come back */
#define P7_stale_is_fenced()
#define P7_one_outcome()
#endif
#define P7_settled_is_not_revived() CHECKED(7, !settledHere[vTick])
