import { describeRows } from './describe-rows.ts';
import { CHAOS_ROWS } from './rows/index.ts';

// Much waiting and little work: in a file of its own, so that it runs beside the others.
describeRows(
  'the traffic of a company',
  CHAOS_ROWS.filter(({ id }) => id === 'F28'),
);
