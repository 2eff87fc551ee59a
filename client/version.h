/* SPDX-License-Identifier: Apache-2.0 */
/* Version of the library; the build checks it against the project's. */
#ifndef LP_CLIENT_VERSION_H
#define LP_CLIENT_VERSION_H

#define LP_VERSION_TEXT "0.1.0"
#define LP_VERSION_NUMBER ((0u << 16) | (1u << 8) | 0u)

#endif
