# SPDX-License-Identifier: Apache-2.0
# Adds up one run of ctest from its JUnit record. A Criterion program counts as the tests that it
# ran, by its closing line, and as those that it says it skipped; any other entry counts as one.
# Output, tab separated: "failed" NAME and "skipped" NAME (REASON) for each, then
# "counts" PASSED FAILED SKIPPED. Ends with 1 when the record is not whole.

function number_after(word,    rest) {
    rest = $0
    if (!match(rest, word " [0-9]+"))
        return 0
    return substr(rest, RSTART + length(word) + 1, RLENGTH - length(word) - 1) + 0
}

function attribute(name,    rest) {
    if (!match($0, name "=\"[^\"]*\""))
        return ""
    return substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 3)
}

function plain(text) {
    gsub(/&quot;/, "\"", text); gsub(/&apos;/, "'", text)
    gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&amp;/, "\\&", text)
    gsub(/\t/, " ", text)
    return text
}

function skip(what) {
    skipped++
    printf "skipped\t%s\n", what
}

/<testcase / {
    name = attribute("name")
    status = attribute("status")
    is_skipped = 0
    tests_ran = tests_bad = criterion = 0
    reason = ""
}

/<skipped/ { is_skipped = 1 }

# The text of a waived entry says why, on a line of its own.
/waived: / { reason = plain(substr($0, index($0, "waived: "))) }

/\[SKIP\] / { skip(name ": " plain(substr($0, index($0, "[SKIP] ") + 7))) }

/\[====\] Synthesis: Tested: / {
    criterion = 1
    tests_ran += number_after("Passing:")
    tests_bad += number_after("Failing:") + number_after("Crashing:")
}

/<\/testcase>/ {
    entries++
    if (is_skipped) {
        skip(name (reason != "" ? " (" reason ")" : ""))
    } else if (status == "run") {
        passed += criterion ? tests_ran : 1
    } else {
        # An entry may fail although its tests passed: a crash at exit, a time-out.
        printf "failed\t%s\n", name
        passed += tests_ran
        failed += tests_bad > 0 ? tests_bad : 1
    }
}

/<\/testsuite>/ { whole = 1 }

END {
    printf "counts\t%d\t%d\t%d\n", passed, failed, skipped
    exit(whole && entries > 0 ? 0 : 1)
}
