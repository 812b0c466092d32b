-- Approved calls of other agents stay claimed for as long as the other agent works and waits, which may be days. The
-- sweeper looks through them a few at a time, and through all other claims by their time alone.
drop index confirmations_claimed;
create index confirmations_claimed on confirmations (send_by)
  where execution_status = 'claimed' and (run_id is null or tool_timeout_ms is not null);
create index confirmations_callers on confirmations (send_by, id)
  where execution_status = 'claimed' and run_id is not null and tool_timeout_ms is null;

-- Calls that ran again: whose answer is noted on the call, while its worker died before it was noted here.
create index confirmations_reruns on confirmations (invocation_id)
  where supersedes is not null and run_id is not null and execution_status in ('claimed', 'unknown')
    and superseded_by is null;
-- Those that nobody has decided about or used: where their run is cancelled, they are withdrawn.
create index confirmations_open_reruns on confirmations (run_id)
  where supersedes is not null and run_id is not null and (status = 'pending' or execution_status = 'unclaimed');

-- What each MCP server listed last, as it said it: after a restart its tools are the ones that people were asked about,
-- whether the server is there or not. Text, because jsonb would change what a digest is taken over.
create table mcp_listings (
  connector text constraint mcp_listings_pk primary key,
  -- Which server: another one under the same name starts without tools.
  server text not null,
  tools text not null,
  at timestamptz not null default clock_timestamp()
);
