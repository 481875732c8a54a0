// Package leasetest proves that a [lease.Store] keeps the rules of stores: the name of each case is
// one. It needs nothing but the standard library:
//
//	func TestStore(t *testing.T) {
//		leasetest.Run(t, func(t *testing.T) lease.Store { return open(t) })
//	}
package leasetest

import (
	"testing"
	"time"

	"github.com/solotick/solotick/lease"
)

// Run runs every case as a subtest that is named for the rule it proves. Each gets a store from
// newStore, which may be new or shared: the cases use names that are new in each run. The cases
// about an optional ability, such as notifications or locks, are skipped for a store without it.
// Those that need [WithForget] or [WithClockStep] are skipped where that is not given.
func Run(t *testing.T, newStore func(t *testing.T) lease.Store, opts ...Option) {
	o := options{
		within: func(t *testing.T, f func(*testing.T)) { f(t) },
		ttl:    25 * time.Millisecond,
	}
	for _, opt := range opts {
		opt(&o)
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			o.within(t, func(t *testing.T) { c.prove(newFixture(t, newStore(t), o, c.rule)) })
		})
	}
}

type options struct {
	within func(t *testing.T, f func(*testing.T))
	ttl    time.Duration
	forget func(t *testing.T, s lease.Store)
	step   func(t *testing.T, s lease.Store, d time.Duration)
}

// Option changes how [Run] goes about it.
type Option func(*options)

// WithForget gives the suite a way to make s forget everything, as a crash without persistence
// would.
func WithForget(forget func(t *testing.T, s lease.Store)) Option {
	return func(o *options) { o.forget = forget }
}

// WithClockStep gives the suite a way to move the clock of s by d, as somebody who sets the clock
// of its machine would.
func WithClockStep(step func(t *testing.T, s lease.Store, d time.Duration)) Option {
	return func(o *options) { o.step = step }
}

// WithTTL sets the TTL of the leases that a case lets run out; the default is 25 ms. A store whose
// clock is coarse wants more. No case depends on being faster than a TTL.
func WithTTL(d time.Duration) Option { return func(o *options) { o.ttl = d } }

// Within runs each case, its call of newStore included, inside run. Give synctest.Test for a store
// whose clock is the process's: then no time is spent waiting.
func Within(run func(t *testing.T, f func(*testing.T))) Option {
	return func(o *options) { o.within = run }
}

var cases = []struct {
	rule  string
	prove func(*fixture)
}{
	// claims.go
	{"OneHolderAtATime", oneHolderAtATime},
	{"RepeatedClaimGetsTheSameGrant", repeatedClaimGetsTheSameGrant},
	{"AnotherRequestOfTheHolderIsAnotherClaim", anotherRequestOfTheHolderIsAnotherClaim},
	{"GrantMovesTheMark", grantMovesTheMark},
	{"TokensRiseStrictly", tokensRiseStrictly},
	{"TokensAreAtLeastTheStoresClock", tokensAreAtLeastTheStoresClock},
	{"EarlyDecidesNothing", earlyDecidesNothing},
	{"LateDecidesNothing", lateDecidesNothing},
	{"BoundsAreOfTheFirstGrantOnly", boundsAreOfTheFirstGrantOnly},
	{"LargestNumbersAreExact", largestNumbersAreExact},
	{"FaultyRequestsAreRefused", faultyRequestsAreRefused},

	// bounds.go
	{"PastItsBoundNothingIsClaimed", pastItsBoundNothingIsClaimed},
	{"PastItsBoundNothingIsTakenOver", pastItsBoundNothingIsTakenOver},
	{"LeftForTooLongIsMissed", leftForTooLongIsMissed},
	{"PastItsBoundNothingIsSettledOnTheWay", pastItsBoundNothingIsSettledOnTheWay},
	{"PastItsBoundNothingIsPassedOrMade", pastItsBoundNothingIsPassedOrMade},
	{"PastItsBoundNothingIsPausedOrTriggered", pastItsBoundNothingIsPausedOrTriggered},

	// clock.go
	{"LeaseRenewedAheadRestartsWithAClaim", leaseRenewedAheadRestartsWithAClaim},
	{"LeaseRenewedAheadRestartsWithASync", leaseRenewedAheadRestartsWithASync},
	{"LeaseOfAClockThatWentBackALittleGoesOn", leaseOfAClockThatWentBackALittleGoesOn},

	// takeovers.go
	{"ExpiredOccasionIsTakenOverWithHigherTokenAndAttempt", expiredOccasionIsTakenOver},
	{"TakeoverNamesTheFormerHolder", takeoverNamesTheFormerHolder},
	{"TakeoversOfTheFirstGrantStayInForce", takeoversOfTheFirstGrantStayInForce},
	{"TakeoverLimitSettlesAsLost", takeoverLimitSettlesAsLost},
	{"RepeatedLostSaysDecided", repeatedLostSaysDecided},
	{"AtMostOnceIsNeverGrantedTwice", atMostOnceIsNeverGrantedTwice},
	{"OtherLostOccasionsAreSettledOnTheWay", otherLostOccasionsAreSettledOnTheWay},
	{"HeldIsNotLostOnTheWay", heldIsNotLostOnTheWay},
	{"ReleasedIsGrantedAtOnceAndDoesNotCount", releasedIsGrantedAtOnceAndDoesNotCount},

	// endings.go
	{"SettledIsNeverGrantedAgain", settledIsNeverGrantedAgain},
	{"SettledOnlyOnce", settledOnlyOnce},
	{"RepeatedSettleSaysDone", repeatedSettleSaysDone},
	{"RepeatedReleaseSaysDone", repeatedReleaseSaysDone},
	{"ReleasedCanStillSettle", releasedCanStillSettle},
	{"ExpiredButNotTakenOverCanSettle", expiredButNotTakenOverCanSettle},
	{"FencedHolderCannotSettleRenewRelease", fencedHolderCannotSettleRenewRelease},
	{"LostHolderCannotSettle", lostHolderCannotSettle},

	// renewals.go
	{"RenewalExtendsFromNow", renewalExtendsFromNow},
	{"RenewalRecordsTheAttempt", renewalRecordsTheAttempt},
	{"RenewAnswersForEachGrant", renewAnswersForEachGrant},
	{"ExpiredButNotTakenOverCanRenew", expiredButNotTakenOverCanRenew},
	{"LateRenewalRevivesNothing", lateRenewalRevivesNothing},

	// overlap.go
	{"OverlapAllowGrantsAllTheSame", overlapAllowGrantsAllTheSame},
	{"OverlapSkipSettlesAsSkipped", overlapSkipSettlesAsSkipped},
	{"RepeatedSkipSaysSkipped", repeatedSkipSaysSkipped},
	{"OverlapWaitDecidesNothing", overlapWaitDecidesNothing},
	{"OverlapMindsWhatMayBeTakenOver", overlapMindsWhatMayBeTakenOver},
	{"OverlapDoesNotMindPlainLocks", overlapDoesNotMindPlainLocks},

	// queue.go
	{"OverlapQueueWaits", overlapQueueWaits},
	{"NewestInTheQueueWins", newestInTheQueueWins},
	{"QueueTakesThePlaceOfWhatOnlyWaits", queueTakesThePlaceOfWhatOnlyWaits},
	{"QueueWaitsForWhatMayBeTakenOver", queueWaitsForWhatMayBeTakenOver},
	{"WaitingIsGrantedAtOnceWithAllow", waitingIsGrantedAtOnceWithAllow},
	{"OthersMindWhatWaits", othersMindWhatWaits},
	{"QueueDoesNotMindPlainLocks", queueDoesNotMindPlainLocks},
	{"WaitingCannotBeRenewedOrSettled", waitingCannotBeRenewedOrSettled},
	{"WatchTellsWhoQueues", watchTellsWhoQueues},

	// replace.go
	{"OverlapReplaceTellsTheHolder", overlapReplaceTellsTheHolder},
	{"ReplacedHolderEndsAsItLikes", replacedHolderEndsAsItLikes},
	{"DeadHolderDelaysReplacementUntilItsLeaseEnds", deadHolderDelaysReplacementUntilItsLeaseEnds},
	{"ReplacedIsNotTakenOver", replacedIsNotTakenOver},
	{"ReplaceDoesNotWaitForTheFree", replaceDoesNotWaitForTheFree},
	{"ReplaceTakesThePlaceOfWhatWaits", replaceTakesThePlaceOfWhatWaits},
	{"WaitingReplacesWhenItIsClaimedSo", waitingReplacesWhenItIsClaimedSo},
	{"PlainLocksAreNotReplaced", plainLocksAreNotReplaced},
	{"WatchTellsWhoIsReplaced", watchTellsWhoIsReplaced},
	{"NewerIsNotReplacedByOlder", newerIsNotReplacedByOlder},
	{"OnlyWhatIsGrantedAlreadyMakesRoom", onlyWhatIsGrantedAlreadyMakesRoom},
	{"WhoIsReplacedStaysReplaced", whoIsReplacedStaysReplaced},
	{"ForgottenIsReplacedAllTheSame", forgottenIsReplacedAllTheSame},

	// cancel.go
	{"CancelledHolderIsNotRenewed", cancelledHolderIsNotRenewed},
	{"CancelledHolderEndsAsItLikes", cancelledHolderEndsAsItLikes},
	{"CancelledIsNotTakenOver", cancelledIsNotTakenOver},
	{"CancelledThatRanOutIsInNobodysWay", cancelledThatRanOutIsInNobodysWay},
	{"CancelSettlesTheFree", cancelSettlesTheFree},
	{"CancelSettlesWhatWaits", cancelSettlesWhatWaits},
	{"CancelOfWhatIsNotOpenChangesNothing", cancelOfWhatIsNotOpenChangesNothing},
	{"WatchNotifiesOfCancels", watchNotifiesOfCancels},

	// repair.go
	{"RepairBringsTheMarkBackToNow", repairBringsTheMarkBackToNow},
	{"RepairedDecidesWhatWasSettled", repairedDecidesWhatWasSettled},
	{"RepairedHolderStillSettles", repairedHolderStillSettles},
	{"LateHolderReopensNothingRepaired", lateHolderReopensNothingRepaired},
	{"RepairBringsControlsBackToNow", repairBringsControlsBackToNow},
	{"RepairOfNothingAheadChangesNothing", repairOfNothingAheadChangesNothing},
	{"WatchNotifiesOfRepairs", watchNotifiesOfRepairs},

	// remove.go
	{"RemovedRecordIsGone", removedRecordIsGone},
	{"WhatIsOpenIsNotRemoved", whatIsOpenIsNotRemoved},
	{"RemovalIsOfTheRecordThatWasSeen", removalIsOfTheRecordThatWasSeen},
	{"ClaimAndRemovalNeverBothSucceed", claimAndRemovalNeverBothSucceed},
	{"RemovalLeavesLocksAndOtherNamesAlone", removalLeavesLocksAndOtherNamesAlone},
	{"RemovalWaitsForTheClock", removalWaitsForTheClock},
	{"FaultyRemovalsAreRefused", faultyRemovalsAreRefused},

	// openonly.go
	{"OnlyOpenDecidesNothing", onlyOpenDecidesNothing},
	{"OnlyOpenAsksForTheOpen", onlyOpenAsksForTheOpen},

	// watermarks.go
	{"UnknownUntilSynced", unknownUntilSynced},
	{"SyncKeepsTheMark", syncKeepsTheMark},
	{"SyncAnswersForEachName", syncAnswersForEachName},
	{"StaleRecordTakesKnownMark", staleRecordTakesKnownMark},
	{"PassMovesTheMarkOnlyFromWhereItIs", passMovesTheMarkOnlyFromWhereItIs},
	{"PassLeavesTheOpenAlone", passLeavesTheOpenAlone},
	{"RepeatedPassSaysPassed", repeatedPassSaysPassed},
	{"RequestsAreNoTokens", requestsAreNoTokens},

	// locks.go
	{"PlainLockHasNoMemory", plainLockHasNoMemory},
	{"PlainLockIsHeldByOne", plainLockIsHeldByOne},
	{"PlainLockLeavesTheMarkAlone", plainLockLeavesTheMarkAlone},

	// lockgrants.go
	{"LockIsHeldUpToItsLimit", lockIsHeldUpToItsLimit},
	{"RepeatedLockClaimGetsTheSameGrant", repeatedLockClaimGetsTheSameGrant},
	{"LockTokensRise", lockTokensRise},
	{"LockTokensAreAboveWhatIsKnown", lockTokensAreAboveWhatIsKnown},
	{"ExpiredLockIsTakenByWhoNeedsIt", expiredLockIsTakenByWhoNeedsIt},
	{"OwnExpiredLockIsGrantedAnew", ownExpiredLockIsGrantedAnew},
	{"ExpiredLockThatNobodyNeedsCanBeRenewed", expiredLockThatNobodyNeedsCanBeRenewed},
	{"RenewalExtendsTheLockFromNow", renewalExtendsTheLockFromNow},
	{"LocksAreApartFromOccasions", locksAreApartFromOccasions},
	{"RenewalOfLocksAnswersForEachGrant", renewalOfLocksAnswersForEachGrant},
	{"FaultyLocksAreRefused", faultyLocksAreRefused},

	// lockends.go
	{"LockGivenBackIsFree", lockGivenBackIsFree},
	{"WhatWasClaimedCanBeWithdrawn", whatWasClaimedCanBeWithdrawn},
	{"ForceReleaseFencesTheHolder", forceReleaseFencesTheHolder},
	{"ForgottenLockIsWrittenAnew", forgottenLockIsWrittenAnew},
	{"ForgottenLockThatWasGivenBackIsNotRevived", forgottenLockThatWasGivenBackIsNotRevived},
	{"ForgottenLockBesideANewTokenIsWrittenAnew", forgottenLockBesideANewTokenIsWrittenAnew},
	{"HigherTokenWinsWhenBothWereForgotten", higherTokenWinsWhenBothWereForgotten},

	// lockqueue.go
	{"ArrivalGoesByTheLine", arrivalGoesByTheLine},
	{"LargestGoesFirst", largestGoesFirst},
	{"AnyLetsNobodyGoFirst", anyLetsNobodyGoFirst},
	{"WhoeverHasTheTurnNeedNotAskFirst", whoeverHasTheTurnNeedNotAskFirst},
	{"DeadTicketDelaysNobodyLongerThanItsLife", deadTicketDelaysNobodyLongerThanItsLife},
	{"ClaimAgainKeepsTheTicket", claimAgainKeepsTheTicket},
	{"LeftTellsWhenToAskAgain", leftTellsWhenToAskAgain},
	{"LongLinesAreInOrder", longLinesAreInOrder},

	// locknotified.go
	{"ListenTellsWhoseTurnItIs", listenTellsWhoseTurnItIs},
	{"ListenTellsAllReadersUpToTheFirstWriter", listenTellsAllReadersUpToTheFirstWriter},
	{"ListenPassesWhoLetsNobodyGoFirst", listenPassesWhoLetsNobodyGoFirst},
	{"WhoLeavesTheLineLetsTheNextGo", whoLeavesTheLineLetsTheNextGo},
	{"WhoTakesAwayLetsOthersGo", whoTakesAwayLetsOthersGo},
	{"WhoPassesTheDeadLetsOthersPass", whoPassesTheDeadLetsOthersPass},
	{"ListenTellsAnyWhenThereAreMany", listenTellsAnyWhenThereAreMany},
	{"TellTellsOfGrantAndEnd", tellTellsOfGrantAndEnd},
	{"ForceReleaseTellsTheHolderAndWhoseTurnItIs", forceReleaseTellsTheHolderAndWhoseTurnItIs},

	// lockview.go
	{"LockShowsHoldsAndLine", lockShowsHoldsAndLine},
	{"LockShowsTheFirstOfALongLine", lockShowsTheFirstOfALongLine},
	{"LocksListsWhatIsHeldOrWaitedFor", locksListsWhatIsHeldOrWaitedFor},
	{"CtxEndsCallAboutLocks", ctxEndsCallAboutLocks},
	{"ManyLocksAtOnce", manyLocksAtOnce},

	// forgotten.go
	{"TokensRiseWhenTheRecordWasLost", tokensRiseWhenTheRecordWasLost},
	{"ForgottenGrantIsWrittenAnewByRenew", forgottenGrantIsWrittenAnewByRenew},
	{"ForgottenGrantIsWrittenAnewBySettle", forgottenGrantIsWrittenAnewBySettle},
	{"ForgottenGrantIsWrittenAnewByRelease", forgottenGrantIsWrittenAnewByRelease},
	{"ForgottenPlainLockIsWrittenAnew", forgottenPlainLockIsWrittenAnew},
	{"ForgottenGrantsAreWrittenAnewInAnyOrder", forgottenGrantsAreWrittenAnewInAnyOrder},
	{"ForgottenAndSettledIsNotRevived", forgottenAndSettledIsNotRevived},
	{"ForgottenTakeoverFencesWhoIsBack", forgottenTakeoverFencesWhoIsBack},
	{"WhatWasRaisedByAnotherCanBeWrittenAnew", whatWasRaisedByAnotherCanBeWrittenAnew},
	{"TimeTellsThatTheStoreForgot", timeTellsThatTheStoreForgot},

	// pause.go
	{"PauseSkipsWhatIsNew", pauseSkipsWhatIsNew},
	{"PauseIsIdempotent", pauseIsIdempotent},
	{"ResumeDecidesWhatCameDue", resumeDecidesWhatCameDue},
	{"PauseLeavesTheOpenAlone", pauseLeavesTheOpenAlone},
	{"TriggeredIsGrantedWhilePaused", triggeredIsGrantedWhilePaused},
	{"WithoutARecordNothingIsRuled", withoutARecordNothingIsRuled},
	{"SyncPausesOnlyNewRecords", syncPausesOnlyNewRecords},
	{"SyncKeepsTheRevision", syncKeepsTheRevision},
	{"SyncKeepsTheSchedulesSinceTheMark", syncKeepsTheSchedulesSinceTheMark},
	{"FaultyPausesAreRefused", faultyPausesAreRefused},

	// trigger.go
	{"TriggerOpensAnOccasion", triggerOpensAnOccasion},
	{"TriggeredOccasionsRiseAndAreNoTicks", triggeredOccasionsRiseAndAreNoTicks},
	{"TriggeredOccasionsAreNew", triggeredOccasionsAreNew},
	{"TriggeredAndScheduledAreIndependent", triggeredAndScheduledAreIndependent},
	{"RepeatedTriggerSaysTheSame", repeatedTriggerSaysTheSame},
	{"WhatWaitsServesOthersToo", whatWaitsServesOthersToo},
	{"OnlySoManyWait", onlySoManyWait},
	{"TriggersWithAKeyAreOne", triggersWithAKeyAreOne},
	{"WindowsOfKeysEnd", windowsOfKeysEnd},
	{"KeysAreNeverForgottenWithinTheirWindows", keysAreNeverForgottenWithinTheirWindows},
	{"TriggersAreLimitedExactly", triggersAreLimitedExactly},
	{"WhoWaitsForTheLimitIsAccepted", whoWaitsForTheLimitIsAccepted},
	{"SettledTriggerIsNeverGrantedAgain", settledTriggerIsNeverGrantedAgain},
	{"LostTriggerIsLost", lostTriggerIsLost},
	{"ForgottenTriggerIsWrittenAnew", forgottenTriggerIsWrittenAnew},
	{"BucketFillsEvenly", bucketFillsEvenly},
	{"WindowHoldsInAnyOfItsLength", windowHoldsInAnyOfItsLength},
	{"ManyTakeNoMoreThanTheLimit", manyTakeNoMoreThanTheLimit},
	{"FaultyTakesAreRefused", faultyTakesAreRefused},
	{"EmptiedStoreGetsLimitsBack", emptiedStoreGetsLimitsBack},
	{"EveryAttemptHasThePayload", everyAttemptHasThePayload},
	{"ForgottenPayloadIsWrittenBack", forgottenPayloadIsWrittenBack},
	{"WaitingTickServesOnlyItsPayload", waitingTickServesOnlyItsPayload},
	{"QueueDropsNoPayload", queueDropsNoPayload},
	{"AKeyHasOnePayload", aKeyHasOnePayload},
	{"PayloadsAreBounded", payloadsAreBounded},
	{"ManyTriggersAtOnce", manyTriggersAtOnce},
	{"WatchTellsThatWhatWaitsMayBegin", watchTellsThatWhatWaitsMayBegin},
	{"WatchTellsOfTriggers", watchTellsOfTriggers},
	{"FaultyTriggersAreRefused", faultyTriggersAreRefused},

	// policy.go
	{"PolicyOfTheDefinitionStays", policyOfTheDefinitionStays},
	{"PolicyBindsEveryTrigger", policyBindsEveryTrigger},
	{"EditedRateIsInForceAtOnce", editedRateIsInForceAtOnce},
	{"HistoryIsAsLongAsThePolicySays", historyIsAsLongAsThePolicySays},
	{"FaultyPoliciesAreRefused", faultyPoliciesAreRefused},

	// membership.go
	{"MembersAreWhoWasAnnounced", membersAreWhoWasAnnounced},
	{"LifeOfAMemberEnds", lifeOfAMemberEnds},
	{"MembersSayOnlySoMuch", membersSayOnlySoMuch},
	{"MembersHaveTheTimeOfTheirAnnouncement", membersHaveTheTimeOfTheirAnnouncement},
	{"FormerMembersAreKept", formerMembersAreKept},
	{"FormerMembersAreBounded", formerMembersAreBounded},

	{"KnownMembersSayNothingAgain", knownMembersSayNothingAgain},

	// heartbeat.go
	{"HeartbeatAnnouncesAndReads", heartbeatAnnouncesAndReads},
	{"HeartbeatReadsOnlyOtherMembers", heartbeatReadsOnlyOtherMembers},
	{"HeartbeatOutOfBoundsDoesNothing", heartbeatOutOfBoundsDoesNothing},
	{"HeartbeatSaysWhoElseUsesItsName", heartbeatSaysWhoElseUsesItsName},
	{"FaultyHeartbeatsAreRefused", faultyHeartbeatsAreRefused},

	// journal.go
	{"NotesAreKeptNewestFirst", notesAreKeptNewestFirst},
	{"RepeatedNoteIsKeptOnce", repeatedNoteIsKeptOnce},
	{"NotesAreBounded", notesAreBounded},
	{"NamespaceHasAJournal", namespaceHasAJournal},
	{"FaultyNotesAreRefused", faultyNotesAreRefused},
	{"ManyNotesAtOnce", manyNotesAtOnce},

	// audit.go
	{"AuditListsNewestFirst", auditListsNewestFirst},
	{"RepeatedAuditIsKeptOnce", repeatedAuditIsKeptOnce},
	{"AuditComesInStablePages", auditComesInStablePages},
	{"AuditOutlivesTheRecord", auditOutlivesTheRecord},
	{"AuditKeepsItsBudget", auditKeepsItsBudget},
	{"SmallerAuditBudgetHoldsAtOnce", smallerAuditBudgetHoldsAtOnce},
	{"ManyAuditAtOnce", manyAuditAtOnce},
	{"FaultyAuditIsRefused", faultyAuditIsRefused},

	// progress.go
	{"ProgressIsChangedByCompareAndSet", progressIsChangedByCompareAndSet},
	{"ProgressGoesWithItsRecord", progressGoesWithItsRecord},
	{"FaultyProgressIsRefused", faultyProgressIsRefused},

	// publish.go
	{"PublishedReachesEverySubscriber", publishedReachesEverySubscriber},
	{"PublishedMessagesAreBounded", publishedMessagesAreBounded},
	{"PublishedChangesNoRecord", publishedChangesNoRecord},

	// summaries.go
	{"SummariesAreThoseOfRecords", summariesAreThoseOfRecords},
	{"SummariesAreBounded", summariesAreBounded},
	{"SummariesComeInTheOrderOfNames", summariesComeInTheOrderOfNames},
	{"NamesAreListedInPages", namesAreListedInPages},
	{"FaultySummariesAreRefused", faultySummariesAreRefused},

	// sets.go
	{"SetsAreKeptUnderTheirDigests", setsAreKeptUnderTheirDigests},
	{"LifeOfASetEnds", lifeOfASetEnds},
	{"ForgottenSetIsPutAgain", forgottenSetIsPutAgain},
	{"FaultySetsAreRefused", faultySetsAreRefused},
	{"ManyPutOneSetAtOnce", manyPutOneSetAtOnce},

	// history.go
	{"HistoryTellsHowItWasSettled", historyTellsHowItWasSettled},
	{"HistoryTellsOfPauses", historyTellsOfPauses},
	{"HistoryIsBounded", historyIsBounded},
	{"NotesAreKeptAsTheyAre", notesAreKeptAsTheyAre},
	{"LongNotesAreCutBetweenRunes", longNotesAreCutBetweenRunes},

	// namespace.go
	{"NamespaceIsANameThatStays", namespaceIsANameThatStays},

	// check.go
	{"CheckOfAStoreThatWorksIsNil", checkOfAStoreThatWorksIsNil},
	{"CheckSaysWhatFails", checkSaysWhatFails},

	// together.go
	{"NamesAreIndependent", namesAreIndependent},
	{"CtxEndsCall", ctxEndsCall},
	{"ManyAtOnce", manyAtOnce},
	{"ManyTakeoversAtOnce", manyTakeoversAtOnce},
	{"TimeGoesOn", timeGoesOn},
	{"WatchTellsOfReleases", watchTellsOfReleases},
	{"WatchTellsWhoWaits", watchTellsWhoWaits},
	{"InspectShowsTheRecord", inspectShowsTheRecord},
	{"InspectChangesNothing", inspectChangesNothing},
}
