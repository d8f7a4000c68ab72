#!/usr/bin/python3
"""The statistics of ./dev experiments against printed tables. usage: paired_test.py SOURCE_DIR"""
import sys
import unittest

sys.path.insert(0, sys.argv.pop() + "/experiments")
import paired  # pylint: disable=wrong-import-position


class Paired(unittest.TestCase):
    def test_student_is_that_of_the_tables(self):
        for degrees, quantile in ((4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)):
            self.assertAlmostEqual(paired.student(degrees), quantile, delta=quantile / 500)

    def test_signed_ranks_are_those_of_the_tables(self):
        # Rank sums that are critical at 0.05, two-sided: 8 for n = 10, 52 for n = 20.
        for n, critical in ((10, 8), (20, 52)):
            p = []
            for low in (critical, critical + 1):
                signs, left = {}, low
                for rank in range(n, 0, -1):
                    signs[rank] = -1 if rank <= left else 1
                    left -= rank if rank <= left else 0
                p.append(paired.signed_ranks([sign * rank for rank, sign in signs.items()]))
            self.assertLess(p[0], 0.05)
            self.assertGreater(p[1], 0.05)

    def test_all_of_one_sign_is_one_of_two_in_all_signs(self):
        self.assertEqual(paired.signed_ranks([3.0, 1.0, 1.0, 2.0]), 2 / 16)
        self.assertEqual(paired.signed_ranks([0.0, 0.0]), 1)

    def test_contenders_are_compared_where_both_have_a_plan(self):
        rows = [{"a": "11", "b": "10"}, {"a": "", "b": "10"}, {"a": "13", "b": "10"}]
        found = paired.against(rows, "a", "b")
        self.assertEqual(found["n"], 2)
        self.assertAlmostEqual(found["mean"], 0.2)


unittest.main()
