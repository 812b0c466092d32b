import { describeRows } from './describe-rows.ts';
import { CHAOS_ROWS } from './rows/index.ts';

/** The rows that start and kill processes all the time: after the others, some of which decide within milliseconds. */
const KILLS = ['F12', 'F29'];

describeRows(
  'the fault table, at its usual volume',
  CHAOS_ROWS.filter(({ id }) => !KILLS.includes(id) && id !== 'F28'),
);

describeRows(
  'a process that is killed at any point',
  CHAOS_ROWS.filter(({ id }) => KILLS.includes(id)),
);
