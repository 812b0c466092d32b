-- Approved calls of other agents stay claimed for as long as the other agent works and waits, which may be days. The
-- sweeper looks through them a few at a time, and through all other claims by their time alone.
drop index confirmations_claimed;
create index confirmations_claimed on confirmations (send_by)
  where execution_status = 'claimed' and (run_id is null or tool_timeout_ms is not null);
create index confirmations_callers on confirmations (send_by, id)
  where execution_status = 'claimed' and run_id is not null and tool_timeout_ms is null;
