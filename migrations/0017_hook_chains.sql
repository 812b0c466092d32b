-- Under which hooks a run works: their chain in order, and a digest of it. A run that goes on after a restart under
-- other hooks says so, and each call names the revision under which it was judged. Null: from before this was noted.
alter table runs add column hook_chain jsonb
  constraint runs_hook_chain check (jsonb_typeof(hook_chain -> 'revision') = 'string');
alter table invocations add column hook_revision text;
