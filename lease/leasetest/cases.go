package leasetest

// cases are the rules of stores, by the file that proves each.
var cases = []struct {
	rule  string
	prove func(*fixture)
}{
	// claims.go
	{"OneHolderAtATime", oneHolderAtATime},
	{"RepeatedClaimGetsTheSameGrant", repeatedClaimGetsTheSameGrant},
	{"AnotherRequestOfTheHolderIsAnotherClaim", anotherRequestOfTheHolderIsAnotherClaim},
	{"GrantMovesTheWatermark", grantMovesTheWatermark},
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
	{"ExpiredTickIsTakenOverWithHigherTokenAndAttempt", expiredTickIsTakenOver},
	{"TakeoverNamesTheFormerHolder", takeoverNamesTheFormerHolder},
	{"TakeoversOfTheFirstGrantStayInForce", takeoversOfTheFirstGrantStayInForce},
	{"TakeoverLimitSettlesAsLost", takeoverLimitSettlesAsLost},
	{"RepeatedLostSaysDecided", repeatedLostSaysDecided},
	{"AtMostOnceIsNeverGrantedTwice", atMostOnceIsNeverGrantedTwice},
	{"OtherLostTicksAreSettledOnTheWay", otherLostTicksAreSettledOnTheWay},
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
	{"WatchNotifiesWhoQueues", watchNotifiesWhoQueues},

	// replace.go
	{"OverlapReplaceNotifiesTheHolder", overlapReplaceNotifiesTheHolder},
	{"ReplacedHolderEndsAsItLikes", replacedHolderEndsAsItLikes},
	{"DeadHolderDelaysReplacementUntilItsLeaseEnds", deadHolderDelaysReplacementUntilItsLeaseEnds},
	{"ReplacedIsNotTakenOver", replacedIsNotTakenOver},
	{"ReplaceDoesNotWaitForTheFree", replaceDoesNotWaitForTheFree},
	{"ReplaceTakesThePlaceOfWhatWaits", replaceTakesThePlaceOfWhatWaits},
	{"WaitingReplacesWhenItIsClaimedSo", waitingReplacesWhenItIsClaimedSo},
	{"PlainLocksAreNotReplaced", plainLocksAreNotReplaced},
	{"WatchNotifiesWhoIsReplaced", watchNotifiesWhoIsReplaced},
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
	{"RepairBringsTheWatermarkBackToNow", repairBringsTheWatermarkBackToNow},
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
	{"SyncKeepsTheWatermark", syncKeepsTheWatermark},
	{"SyncAnswersForEachName", syncAnswersForEachName},
	{"StaleRecordTakesKnownWatermark", staleRecordTakesKnownWatermark},
	{"SkipMovesTheWatermarkOnlyFromWhereItIs", skipMovesTheWatermarkOnlyFromWhereItIs},
	{"PassLeavesTheOpenAlone", passLeavesTheOpenAlone},
	{"RepeatedPassSaysPassed", repeatedPassSaysPassed},
	{"RequestsAreNoTokens", requestsAreNoTokens},

	// locks.go
	{"PlainLockHasNoMemory", plainLockHasNoMemory},
	{"PlainLockIsHeldByOne", plainLockIsHeldByOne},
	{"PlainLockLeavesTheWatermarkAlone", plainLockLeavesTheWatermarkAlone},

	// lockgrants.go
	{"LockIsHeldUpToItsLimit", lockIsHeldUpToItsLimit},
	{"RepeatedLockClaimGetsTheSameGrant", repeatedLockClaimGetsTheSameGrant},
	{"LockTokensRise", lockTokensRise},
	{"LockTokensAreAboveWhatIsKnown", lockTokensAreAboveWhatIsKnown},
	{"ExpiredLockIsTakenByWhoNeedsIt", expiredLockIsTakenByWhoNeedsIt},
	{"OwnExpiredLockIsGrantedAgain", ownExpiredLockIsGrantedAgain},
	{"ExpiredLockThatNobodyNeedsCanBeRenewed", expiredLockThatNobodyNeedsCanBeRenewed},
	{"RenewalExtendsTheLockFromNow", renewalExtendsTheLockFromNow},
	{"LocksAreApartFromTicks", locksAreApartFromTicks},
	{"RenewalOfLocksAnswersForEachGrant", renewalOfLocksAnswersForEachGrant},
	{"FaultyLocksAreRefused", faultyLocksAreRefused},

	// lockends.go
	{"LockGivenBackIsFree", lockGivenBackIsFree},
	{"WhatWasClaimedCanBeWithdrawn", whatWasClaimedCanBeWithdrawn},
	{"LateClaimIsRefusedAfterItsRelease", lateClaimIsRefusedAfterItsRelease},
	{"ForceReleaseFencesTheHolder", forceReleaseFencesTheHolder},
	{"ForgottenLockIsWrittenBack", forgottenLockIsWrittenBack},
	{"ForgottenLockThatWasGivenBackIsNotRevived", forgottenLockThatWasGivenBackIsNotRevived},
	{"ForgottenLockBesideANewTokenIsWrittenBack", forgottenLockBesideANewTokenIsWrittenBack},
	{"HigherTokenWinsWhenBothWereForgotten", higherTokenWinsWhenBothWereForgotten},

	// lockqueue.go
	{"ArrivalGoesByTheLine", arrivalGoesByTheLine},
	{"LargestGoesFirst", largestGoesFirst},
	{"AnyLetsNobodyGoFirst", anyLetsNobodyGoFirst},
	{"AnyLetsOthersGoFirst", anyLetsOthersGoFirst},
	{"WhoeverHasTheTurnNeedNotAskFirst", whoeverHasTheTurnNeedNotAskFirst},
	{"DeadTicketDelaysNobodyLongerThanItsLife", deadTicketDelaysNobodyLongerThanItsLife},
	{"ClaimAgainKeepsTheTicket", claimAgainKeepsTheTicket},
	{"RemainingSaysWhenToAskAgain", remainingSaysWhenToAskAgain},
	{"LongLinesAreInOrder", longLinesAreInOrder},

	// locknotified.go
	{"ListenNotifiesWhoseTurnItIs", listenNotifiesWhoseTurnItIs},
	{"ListenNotifiesAllReadersUpToTheFirstWriter", listenNotifiesAllReadersUpToTheFirstWriter},
	{"ListenPassesWhoLetsNobodyGoFirst", listenPassesWhoLetsNobodyGoFirst},
	{"WhoLeavesTheLineLetsTheNextGo", whoLeavesTheLineLetsTheNextGo},
	{"WhoTakesAwayLetsOthersGo", whoTakesAwayLetsOthersGo},
	{"WhoPassesTheDeadLetsOthersPass", whoPassesTheDeadLetsOthersPass},
	{"ListenNotifiesAnyWhenThereAreMany", listenNotifiesAnyWhenThereAreMany},
	{"PublishedLocksNotifyOfGrantAndEnd", publishedLocksNotifyOfGrantAndEnd},
	{"ForceReleaseNotifiesTheHolderAndWhoseTurnItIs", forceReleaseNotifiesTheHolderAndWhoseTurnItIs},

	// lockview.go
	{"LockShowsHoldsAndLine", lockShowsHoldsAndLine},
	{"LockShowsTheFirstOfALongLine", lockShowsTheFirstOfALongLine},
	{"LocksListsWhatIsHeldOrWaitedFor", locksListsWhatIsHeldOrWaitedFor},
	{"CtxEndsCallAboutLocks", ctxEndsCallAboutLocks},
	{"ManyLocksAtOnce", manyLocksAtOnce},

	// forgotten.go
	{"TokensRiseWhenTheRecordWasLost", tokensRiseWhenTheRecordWasLost},
	{"ForgottenGrantIsWrittenBackByRenew", forgottenGrantIsWrittenBackByRenew},
	{"ForgottenGrantIsWrittenBackBySettle", forgottenGrantIsWrittenBackBySettle},
	{"ForgottenGrantIsWrittenBackByRelease", forgottenGrantIsWrittenBackByRelease},
	{"ForgottenPlainLockIsWrittenBack", forgottenPlainLockIsWrittenBack},
	{"ForgottenGrantsAreWrittenBackInAnyOrder", forgottenGrantsAreWrittenBackInAnyOrder},
	{"ForgottenAndSettledIsNotRevived", forgottenAndSettledIsNotRevived},
	{"ForgottenTakeoverFencesWhoIsBack", forgottenTakeoverFencesWhoIsBack},
	{"WhatWasRaisedByAnotherCanBeWrittenBack", whatWasRaisedByAnotherCanBeWrittenBack},
	{"TimeSaysThatTheStoreForgot", timeSaysThatTheStoreForgot},

	// pause.go
	{"PauseSkipsWhatIsNew", pauseSkipsWhatIsNew},
	{"PauseIsIdempotent", pauseIsIdempotent},
	{"ResumeDecidesWhatCameDue", resumeDecidesWhatCameDue},
	{"ResumeLeavesWhatIsDueLater", resumeLeavesWhatIsDueLater},
	{"NoRoomIsGrantedNothing", noRoomIsGrantedNothing},
	{"PauseLeavesTheOpenAlone", pauseLeavesTheOpenAlone},
	{"TriggeredIsGrantedWhilePaused", triggeredIsGrantedWhilePaused},
	{"WithoutARecordNothingIsRuled", withoutARecordNothingIsRuled},
	{"SyncPausesOnlyNewRecords", syncPausesOnlyNewRecords},
	{"SyncKeepsTheRevision", syncKeepsTheRevision},
	{"SyncKeepsTheSchedulesSinceTheWatermark", syncKeepsTheSchedulesSinceTheWatermark},
	{"FaultyPausesAreRefused", faultyPausesAreRefused},

	// trigger.go
	{"TriggerOpensATick", triggerOpensATick},
	{"TriggeredTicksRiseAndAreNotScheduled", triggeredTicksRiseAndAreNotScheduled},
	{"TriggeredTicksAreNew", triggeredTicksAreNew},
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
	{"ForgottenTriggerIsWrittenBack", forgottenTriggerIsWrittenBack},
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
	{"ATickThatRunsAgainSaysSo", aTickThatRunsAgainSaysSo},
	{"ManyTriggersAtOnce", manyTriggersAtOnce},
	{"WatchNotifiesThatWhatWaitsMayBegin", watchNotifiesThatWhatWaitsMayBegin},
	{"WatchNotifiesOfTriggers", watchNotifiesOfTriggers},
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

	// checkpoints.go
	{"CheckpointIsKeptForTheNextAttempt", checkpointIsKeptForTheNextAttempt},
	{"CheckpointOfALowerTokenIsFenced", checkpointOfALowerTokenIsFenced},
	{"CheckpointAfterTheLeaseIsRefused", checkpointAfterTheLeaseIsRefused},
	{"CheckpointLeavesTheRecordAlone", checkpointLeavesTheRecordAlone},
	{"CheckpointsAreBounded", checkpointsAreBounded},
	{"CheckpointsOfSettledTicksMakeRoom", checkpointsOfSettledTicksMakeRoom},
	{"CheckpointsGoWithTheirRecord", checkpointsGoWithTheirRecord},
	{"FaultyCheckpointsAreRefused", faultyCheckpointsAreRefused},
	{"ManyCheckpointsAtOnce", manyCheckpointsAtOnce},

	// publish.go
	{"PublishedReachesEverySubscriber", publishedReachesEverySubscriber},
	{"LettersReachTheirReceivers", lettersReachTheirReceivers},
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
	{"HistorySaysHowItWasSettled", historySaysHowItWasSettled},
	{"HistoryHasPauses", historyHasPauses},
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
	{"WatchNotifiesOfReleases", watchNotifiesOfReleases},
	{"WatchNotifiesWhoWaits", watchNotifiesWhoWaits},
	{"InspectShowsTheRecord", inspectShowsTheRecord},
	{"InspectChangesNothing", inspectChangesNothing},
}
