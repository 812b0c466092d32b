-- Every act that can be refused is on the record once by its key, not only votes, revocations and settlements: what agents
-- try (to ask, claim, report, cancel) and what operators try (to freeze, to end a freeze, to switch read-only).
alter table refused_attempts drop constraint refused_attempts_act;
alter table refused_attempts add constraint refused_attempts_act check (
  act in ('vote', 'revoke', 'settle', 'cancel', 'claim', 'outcome', 'ask', 'freeze', 'unfreeze', 'read_only')
);
comment on column refused_attempts.surface is 'The channel''s id, `api`, or `run` for what a run of ours tried.';
