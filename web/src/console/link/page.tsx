import { useState } from 'react';
import { takeToken } from '../../sign-in/link-token.ts';
import { OperatorLink } from '../../sign-in/operator-link.tsx';

/** The one-time link of an operator. */
function LinkPage() {
  const [token] = useState(takeToken);
  return <OperatorLink token={token} next="" isBeside={false} />;
}

export { LinkPage as Page };
